"""How a process ended: the exit status that a shell, torchrun, Docker or Windows shows, and the signal behind it."""

from __future__ import annotations

from torchdoctor.tables.loading import TableFile
from torchdoctor.tables.numbered import NumberedError, NumberedErrors

FILE = TableFile("exit_statuses.csv", NumberedError, ("code",), "How a process ended: status, signal, cause, finding.")

SHELL_ADDS = 128  # to the number of the signal that ended a process
_WORD = 1 << 32  # Windows statuses are 32 bits wide and are shown with or without a sign
_LAST_SIGNAL = 64


class ExitStatuses(NumberedErrors):
    """Look-ups over the statuses, in whatever form they are shown."""

    def shown(self, status: int) -> NumberedError | None:
        """The row of a status: 137 of a shell, -9 of Python, -1073741819 of Windows."""
        if status >= 0:
            return self.find(status)
        return self.signal(-status) if -status <= _LAST_SIGNAL else self.find(status + _WORD)

    def signal(self, number: int) -> NumberedError | None:
        """The row of a signal's number."""
        return self.find(SHELL_ADDS + number)
