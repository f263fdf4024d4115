"""How many queries make a task: as many as are expected to take long enough to be worth sending."""

from collections import deque
from collections.abc import Hashable
from typing import Any

from kerncause.parallel.trades import Trade

# Sending a task to another machine takes some milliseconds.
TASK_SECONDS = 0.1


class Pace:
    """What queries took so far: the mean of those that are alike."""

    def __init__(self) -> None:
        self._heard: dict[Hashable, tuple[float, int]] = {}

    def hear(self, likeness: Hashable, seconds: float) -> None:
        """Learn how long one query took."""
        total, count = self._heard.get(likeness, (0.0, 0))
        self._heard[likeness] = total + seconds, count + 1

    def expected(self, likeness: Hashable) -> float:
        """Return the seconds that a query will take; of those it never saw one, as long as a task should take."""
        total, count = self._heard.get(likeness, (TASK_SECONDS, 1))
        return total / count

    def next_task(self, trade: Trade, waiting: "deque[Any]", most: int) -> list[Any]:
        """Take the queries of one task from those that wait: at least one, no more than `most`."""
        task = [waiting.popleft()]
        seconds = self.expected(trade.likeness(task[0]))
        while waiting and len(task) < most and seconds < TASK_SECONDS:
            task.append(waiting.popleft())
            seconds += self.expected(trade.likeness(task[-1]))
        return task
