"""The error tree, split by what the caller can do.

    SlowwaveError
    |-- TransientError   wait and try again (server down, rate limit, lock held)
    |   `-- BusyError    another writer holds the lock
    |-- ConfigError      fix the configuration (missing key, unknown model, wrong dimensions)
    |   `-- DamageError  files of the store are missing or broken: `slowwave run rebuild` makes it anew
    |-- InputError       fix the input (not a file, not a transcript, bad parameter)
    |-- NotFoundError    the named thing is not there
    |-- OutputError      a model answered, and the answer cannot be used
    |-- BudgetError      the run's token or cost budget is spent; what is left stays pending
    |-- CancelledError   somebody cancelled the run; what it committed is kept
    `-- ContractError    a bug of ours: something we made breaks our own schema

Foreign exceptions become one of these at their one gateway. A message says what happened, with which
value, and what to do. Messages never carry prompt text, stored text or keys.
"""


class SlowwaveError(Exception):
    """Base of every error that Slowwave raises on purpose."""

    exit_code = 1


class TransientError(SlowwaveError):
    """It may work later: wait and try again."""

    exit_code = 75


class BusyError(TransientError):
    """Another process holds the writer lock."""


class ConfigError(SlowwaveError):
    """The configuration must be changed first."""

    exit_code = 78


class DamageError(ConfigError):
    """Files of the store are missing, broken or another's; the journal holds what they held."""

    def __init__(self, message: str, what: str = "") -> None:
        """Take the whole message, and `what` alone is wrong, for a list of several."""
        super().__init__(message)
        self.what = what or message


class InputError(SlowwaveError):
    """Unusable input: a file, a value or a name that was given."""

    exit_code = 65


class NotFoundError(SlowwaveError):
    """The named thing does not exist."""

    exit_code = 66


class OutputError(SlowwaveError):
    """A model's answer could not be used, after all retries."""


class BudgetError(SlowwaveError):
    """The budget of this run is spent."""


class CancelledError(SlowwaveError):
    """Somebody cancelled the run."""


class ContractError(SlowwaveError):
    """Something that Slowwave itself made is not what its schema says: a bug."""

    exit_code = 70
