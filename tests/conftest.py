"""One BLAS thread, as in production, and hypothesis without deadlines: speed is measured in benchmarks/."""

from collections.abc import Iterator

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("kerncause", deadline=None, derandomize=True)
settings.load_profile("kerncause")


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield
