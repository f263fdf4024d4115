"""What can go wrong, as types: each message names the column or option and the cure."""


class KerncauseError(Exception):
    """Base of everything raised on purpose. The message is one sentence written for the user."""


class DataError(KerncauseError):
    """The table cannot be used as it is."""


class OptionError(KerncauseError, ValueError):
    """An option has a value that cannot be taken."""


class GraphError(KerncauseError, ValueError):
    """A graph is not of the kind that was asked for (a cycle, an unknown node, no extension)."""


class ComputationError(KerncauseError):
    """A computation could not be carried out on this machine or in this precision."""


class DataWarning(UserWarning):
    """The table can be used, but a person should know something about it."""


class WorkerWarning(UserWarning):
    """A worker of a cluster can be used, but a person should know something about it."""
