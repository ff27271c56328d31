"""The two ways in which a start ends early."""


class Failure(Exception):
    """One clear sentence for the person at the keyboard, and an exit code.

    Raised where the cause is known, so that nobody has to read a traceback: a
    traceback is reserved for a mistake of ours.
    """

    def __init__(self, message: str, *, detail: str = "", code: int = 1) -> None:
        super().__init__(message)
        self.detail = detail
        """Text shown below the sentence as it is, such as the end of a log."""
        self.code = code


class Stopped(BaseException):
    """A signal asked us to end while no soong-agent was there to hand it to.

    Not an `Exception`, for the reason KeyboardInterrupt is none: nothing on the
    way up may mistake it for a failure it can handle.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.exit_code = 128 + signal_number
