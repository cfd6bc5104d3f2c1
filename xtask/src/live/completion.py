"""Types into interactive shells, and checks the words that the command line has after completion.

usage: completion.py SHELL FOLDER CASES

FOLDER has the shell's setup. CASES has a JSON array of pairs: keys, in which a tab completes, and the words that the
command line must have.
"""

import json
import os
import pty
import re
import select
import sys
import time

QUIET = 0.25  # seconds without output after which a shell has completed a word
SHORT = 0.05  # the same for what needs no other program
LONGEST = 10.0
SHELLS = {
    "bash": ["bash", "--noprofile", "--rcfile", "{}/bashrc", "-i"],
    "zsh": ["zsh", "-d", "-i"],
    "fish": ["fish", "-i"],
}
ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|[()][A-Z0-9]|\][^\x07\x1b]*(\x07|\x1b\\)|[=>78])")


class Shell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, name, folder):
        arguments = [word.format(folder) for word in SHELLS[name]]
        pid, self.terminal = pty.fork()
        if pid == 0:
            environment = dict(os.environ, TERM="xterm", COLUMNS="200", LINES="50", HOME=folder, ZDOTDIR=folder)
            environment.update(XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder, LANG="C.UTF-8", LC_ALL="C.UTF-8")
            os.execvpe(arguments[0], arguments, environment)
        # The prompt comes when the shell has read its setup, which takes as long as it takes.
        select.select([self.terminal], [], [], LONGEST)
        self.read()

    def read(self, quiet=QUIET):
        """Returns what the shell prints, until it is quiet."""
        text, began = b"", time.monotonic()
        while time.monotonic() - began < LONGEST:
            if not select.select([self.terminal], [], [], quiet)[0]:
                break
            try:
                text += os.read(self.terminal, 65536)
            except OSError:
                break
        return text.decode(errors="replace")

    def type(self, keys, quiet):
        """Types keys and returns what the shell prints."""
        os.write(self.terminal, keys.encode())
        return self.read(quiet)

    def words(self, keys):
        """Returns the words of the command line after some keys, and everything that was printed."""
        parts = re.findall(r"\t|[^\t]+", keys)
        printed = "".join(self.type(part, QUIET if part == "\t" else SHORT) for part in parts)
        # The command line becomes the arguments of printf.
        output = self.type("\x01printf 'W=%s\\n' \r", QUIET)
        lines = ESCAPES.sub("", output).replace("\r", "\n").split("\n")
        # Whatever is left is cleared.
        self.type("\x03", SHORT)
        return [line[2:] for line in lines if line.startswith("W=")], printed + output


def main():
    name, folder, cases = sys.argv[1:]
    shell = Shell(name, folder)
    failures = []
    for keys, want in json.load(open(cases, encoding="utf-8")):
        words, printed = shell.words(keys)
        if words != want:
            failures.append(f"{keys!r} becomes {words}, not {want}: {printed!r}")
    if failures:
        sys.exit("\n".join(failures))


main()
