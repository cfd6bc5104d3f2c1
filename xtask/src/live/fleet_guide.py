"""Follows a guide literally: runs its commands, and asks each engine its questions.

Arguments: the guide, a directory in which `perfset` is the repository, and a directory of programs. Blocks of `sh` are run by one
shell, blocks of `python` define the function `ask` of the engine in the heading before, and blocks of `sql` are passed
to each of them, or to the one that their first line names.
"""

import math
import os
import signal
import subprocess
import sys
import threading
import warnings

guide, work, programs = sys.argv[1:]

# Longest time of the whole guide and of one block, in seconds.
LIMIT = 1_500
LIMIT_OF_BLOCK = 600

DONE = "the block has ended:"


def blocks():
    """Language, heading and text of each block."""
    heading, language, lines = "", None, []
    for line in open(guide).read().splitlines():
        if language is not None:
            if line == "```":
                yield language, heading, "\n".join(lines)
                language = None
            else:
                lines.append(line)
        elif line.startswith("```"):
            language, lines = line[3:], []
        elif line.startswith("#"):
            heading = line.strip("# ")


class Shell:
    """Shell that runs one block after the other."""

    def __init__(self):
        folders = [programs, os.path.dirname(sys.executable)]
        environment = os.environ | {
            "PATH": os.pathsep.join([*folders, os.environ["PATH"]]),
            # What the guide installs is here already.
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        self.process = subprocess.Popen(
            ["bash", "-e", "-o", "pipefail"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=work,
            env=environment,
            start_new_session=True,
            text=True,
        )

    def run(self, text):
        watch = threading.Timer(LIMIT_OF_BLOCK, self.close)
        watch.start()
        try:
            self.process.stdin.write(f'{text}\necho "{DONE}$PWD"\n')
            self.process.stdin.flush()
            printed = []
            for line in self.process.stdout:
                if line.startswith(DONE):
                    return "".join(printed), line[len(DONE) :].strip()
                printed.append(line)
        finally:
            watch.cancel()
        raise SystemExit(f"failed:\n{text}\n{''.join(printed)}")

    def close(self):
        """Ends the shell and what it has started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
                self.process.wait(10)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass


def rows_of(answer):
    return [tuple(row) for row in answer.itertuples(index=False)]


def is_alike(a, b):
    """Equal values, except for the order in which an engine adds up."""
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return math.isclose(float(a), float(b), rel_tol=1e-9, abs_tol=0.100001)


def main():
    signal.alarm(LIMIT)
    warnings.filterwarnings("ignore", module="pyspark")
    shell = Shell()
    engines, answers, commands, questions = {}, {}, 0, 0
    try:
        for language, heading, text in blocks():
            if language == "sh":
                printed, folder = shell.run(text)
                os.chdir(folder)
                commands += sum(not line.startswith(" ") for line in text.splitlines())
            elif language == "python":
                engines[heading] = {}
                exec(compile(text, f"{guide}: {heading}", "exec"), engines[heading])
            elif language == "sql":
                first = text.splitlines()[0]
                named = [name for name in engines if first == f"-- {name}"]
                assert named or not first.startswith("--"), first
                for name in named or engines:
                    found = rows_of(engines[name]["ask"](text))
                    assert found, f"{name} has no answer: {text}"
                    questions += 1
                    known = answers.setdefault(heading if named else text, (name, found))[1]
                    good = len(known) == len(found) and all(
                        len(a) == len(b) and all(map(is_alike, a, b)) for a, b in zip(known, found)
                    )
                    assert good, f"{name}: {found}\nand not {known}: {text}"
            elif language not in ("text", "console"):
                raise SystemExit(f"a block of {language}")
        assert list(engines) == ["DuckDB", "Sail", "ClickHouse"], list(engines)
        # What the generated hosts are made to do.
        told = list(answers.values())
        assert told[0][1][0][0] == "batch0023", told[0]
        growth = [rows for text, (_, rows) in answers.items() if "grown_mib" in text]
        assert all(row[1].startswith("shop:") for row in growth[0]), growth[0]
        assert growth[1][0][0] == "shop" and growth[1][0][1] == 12, growth[1]
    finally:
        if "spark" in engines.get("Sail", {}):
            engines["Sail"]["spark"].stop()
        shell.close()
    print(f"{commands} lines of commands, {questions} answers of {len(engines)} engines", flush=True)
    os._exit(0)  # waits for no thread of an engine


main()
