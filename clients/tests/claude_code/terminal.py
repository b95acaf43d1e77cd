"""A terminal with a person before it: keys are typed, and what is drawn is read as words."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

ROWS, COLUMNS = 50, 160
# Window titles and all sequences that move the cursor or set colours. Without them only words are
# left, with a space for each move.
NOT_WORDS = re.compile(r"\x1b\][^\x07]*\x07|\x1b[\[(][0-9;?<>=]*[ -/]*[@-~]|[\x00-\x1f]")


class Terminal:
    def __init__(self, arguments, environment, folder):
        self.drawn = b""
        self.child, self.screen = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execve(arguments[0], arguments, {"TERM": "xterm-256color", **environment})
        fcntl.ioctl(self.screen, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def read(self, seconds):
        """Reads what is drawn until nothing comes for that long."""
        while select.select([self.screen], [], [], seconds)[0]:
            try:
                more = os.read(self.screen, 65536)
            except OSError:
                return
            if not more:
                return
            self.drawn += more

    def words(self):
        return " ".join(NOT_WORDS.sub(" ", self.drawn.decode(errors="replace")).split())

    def wait_for(self, what, holds, seconds):
        end = time.monotonic() + seconds
        while not holds(self.words()):
            assert time.monotonic() < end, f"{what} is not on the screen: {self.words()[-1500:]}"
            self.read(0.1)

    def type(self, keys):
        os.write(self.screen, keys.encode())

    def close(self):
        os.killpg(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)
        os.close(self.screen)
