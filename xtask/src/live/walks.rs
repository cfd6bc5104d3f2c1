//! Checks of processes collected by a walk over the kernel's tasks: through churn, and without the permission.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::finished;
use super::owned::{ForAll, Running};
use crate::repository::{root, target};

/// Checks that a walk over the kernel's tasks finds the same as reading files of `/proc`, while many processes begin
/// and end.
pub fn churn(full: bool) -> Result<String> {
    let mut test = Command::new("cargo");
    test.args(["test", "--quiet", "-p", "perfset-linux", "--lib"]);
    if full {
        // Twice as many rounds in the same time. Otherwise what `cargo test --workspace` has built is run.
        test.arg("--release");
    }
    test.args(["--", "--ignored", "--nocapture"]);
    let said =
        finished(test.arg("hour_of_churn").current_dir(root()).output().context("cannot start cargo")?)?;
    let figures = said.lines().find(|line| line.contains(" rounds, ")).context("the test did not run")?;
    Ok(format!(": {figures}"))
}

/// Returns the line of `doctor` about the collection method of processes.
fn source(command: &mut Command) -> Result<String> {
    let said = finished(command.arg("doctor").output().context("cannot start it")?)?;
    let line =
        said.lines().find(|line| line.contains("process collection: ")).context("doctor does not say it")?;
    Ok(line.to_owned())
}

/// Python script that forbids itself the system call bpf(2), and then runs another program.
const WITHOUT_BPF: &str = r"
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
number = {'x86_64': 321, 'aarch64': 280}[os.uname().machine]
rules = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x50000 | 1), (0x06, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *rule) for rule in rules))
class Filter(ctypes.Structure):
    _fields_ = [('len', ctypes.c_ushort), ('code', ctypes.c_void_p)]
filter = Filter(len(rules), ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.byref(filter), 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[1], sys.argv[1:])
";

/// Checks that processes are read from files where a walk is not permitted, and that `doctor` reports reason and
/// remedy. A program with the two capabilities has it, and shows no more than the files would.
pub fn rights() -> Result<String> {
    let copy = ForAll::copy_of(&target().join("release/perfset"))?;
    let program = copy.program.display().to_string();
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let asks = |command: &mut Command| {
        let said = source(command.env("PERFSET_PROCESS_SOURCE", "bpf"));
        said.with_context(|| format!("{command:?}"))
    };

    let walked = asks(&mut Command::new(&program))?;
    ensure!(walked.contains("BPF task iterator ("), "{walked}");
    let refused = asks(Command::new("setpriv").args(nobody).arg(&program))?;
    let remedy = format!("`setcap cap_bpf,cap_perfmon+ep {program}`");
    ensure!(refused.contains("/proc files of processes that ran") && refused.contains(&remedy), "{refused}");
    let forbidden = asks(Command::new("python3").args(["-c", WITHOUT_BPF, &program]))?;
    ensure!(forbidden.contains("seccomp or a security module forbids bpf(2)"), "{forbidden}");

    // With the right to walk and no other, as without: the same values, and the same refused.
    let values = |source: &str| -> Result<Vec<String>> {
        let mut command = Command::new("setpriv");
        command.args(nobody).args([&program, "get", "--raw", "--format", "csv", "--process-source", source]);
        let said = finished(command.arg(r"\Process V2(kthreadd:2)\*").output()?)?;
        let columns = |line: &str| {
            let columns: Vec<_> = line.split(',').collect();
            [5, 7].map(|at| columns.get(at).copied().unwrap_or_default()).join(": ")
        };
        Ok(said.lines().skip(1).map(columns).collect())
    };
    let by_files = values("gate")?;
    finished(Command::new("setcap").args(["cap_bpf,cap_perfmon+ep", &program]).output().context("setcap")?)?;
    let mut with_rights = Command::new("setpriv");
    with_rights.args(nobody).args([&program, "doctor", "--process-source", "bpf"]);
    let said = finished(with_rights.output()?)?;
    ensure!(said.contains("BPF task iterator ("), "with file capabilities: {said}");
    let by_walk = values("bpf")?;
    ensure!(by_walk == by_files, "by a walk {by_walk:?}, from files {by_files:?}");
    ensure!(by_walk.contains(&"IO Read Bytes/sec: denied".to_owned()), "{by_walk:?}");
    let hidden = finished(
        Command::new("unshare")
            .args(["--mount", "sh", "-ec"])
            .arg(format!(
                "mount -t proc -o hidepid=2 proc /proc; setpriv --reuid 65534 --regid 65534 --clear-groups {program} \
                 doctor --process-source bpf"
            ))
            .output()?,
    )?;
    ensure!(hidden.contains("this /proc hides processes (hidepid)"), "with hidepid=2: {hidden}");
    Ok(String::new())
}

/// Checks that a server gives up the capabilities to load BPF programs, and goes on walking over tasks.
pub fn given_up() -> Result<String> {
    let child = Command::new(target().join("release/perfset"))
        .args([
            "get",
            r"\Process V2(kthreadd:2)\% Processor Time",
            r"\Perfset Engine\Source Layer",
            "200ms",
            "--format",
            "csv",
        ])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut child = Running(child);
    let out = child.0.stdout.take().context("it has no output")?;
    let mut out = BufReader::new(out);
    let lines: Vec<String> = out.by_ref().lines().take(5).collect::<Result<_, _>>()?;
    let status = fs::read_to_string(format!("/proc/{}/status", child.0.id()))?;
    drop(child);
    ensure!(lines.len() == 5, "it says {lines:?}");
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).context("it has ended")?;
    let effective = u64::from_str_radix(effective.trim(), 16)?;
    ensure!(effective & (1 << 38 | 1 << 39) == 0, "it has kept CAP_PERFMON or CAP_BPF: {effective:x}");
    let layer = lines.iter().find(|line| line.contains("Source Layer")).context("no Source Layer")?;
    ensure!(layer.contains(",Source Layer,1,ok,"), "it says {layer:?}");
    Ok(String::new())
}

/// Python script that tries to take the file descriptors of a process and to read its memory, for two seconds. Before
/// that it does both to a child of its own, which shows that it can.
const THIEF: &str = r"
import ctypes, os, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
PIDFD_GETFD, PTRACE_ATTACH, PTRACE_DETACH, WALL = 438, 16, 17, 0x40000000
def take(pid, pidfd):
    taken = []
    for fd in range(64):
        got = libc.syscall(PIDFD_GETFD, pidfd, fd, 0)
        if got >= 0:
            taken.append(os.readlink(f'/proc/self/fd/{got}'))
            os.close(got)
    try:
        os.close(os.open(f'/proc/{pid}/mem', os.O_RDONLY))
        taken.append('mem')
    except OSError:
        pass
    if libc.ptrace(PTRACE_ATTACH, pid, 0, 0) == 0:
        taken.append('ptrace')
        os.waitpid(pid, WALL)
        libc.ptrace(PTRACE_DETACH, pid, 0, 0)
    return taken
child = subprocess.Popen(['sleep', '60'], stdin=subprocess.DEVNULL)
time.sleep(0.2)
own = take(child.pid, os.pidfd_open(child.pid))
child.kill()
assert {'/dev/null', 'mem', 'ptrace'} <= set(own), own
victim, rounds, taken = int(sys.argv[1]), 0, set()
pidfd, end = os.pidfd_open(victim), time.monotonic() + 2
while time.monotonic() < end:
    taken |= set(take(victim, pidfd))
    rounds += 1
os.kill(victim, 0)
print(rounds * 66, *sorted(taken))
";

/// Checks that another process of the same user can take no BPF map and no memory of a server that walks over tasks.
/// The server was started with the capabilities of the unit in `docs/guides/serve.md` and gave them up. The maps have
/// numbers of other users' processes.
pub fn not_taken() -> Result<String> {
    let copy = ForAll::copy_of(&target().join("release/perfset"))?;
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"];
    let mut server = Command::new("setpriv");
    server.args(nobody);
    for set in ["--inh-caps", "--ambient-caps", "--bounding-set"] {
        server.args([set, "-all,+bpf,+perfmon"]);
    }
    server.arg(&copy.program).args([
        "get",
        r"\Perfset Engine\Source Layer",
        r"\Process V2(perfset*)\IO Read Bytes/sec",
    ]);
    server.args(["200ms", "--format", "csv", "--process-source", "bpf"]);
    let mut server = Running(server.current_dir("/").stdout(Stdio::piped()).spawn().context("setpriv")?);
    let pid = server.0.id();
    let thief = Command::new("setpriv")
        .args(nobody)
        .args(["python3", "-c", THIEF, &pid.to_string()])
        .env("PATH", "/usr/bin:/bin") // what root has before these may be for root alone
        .current_dir("/")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut out = BufReader::new(server.0.stdout.take().context("it has no output")?).lines();
    // This process reads what it has read itself, although its own file in /proc is root's now.
    let own = format!("perfset:{pid},");
    let mut lines = out.by_ref().map_while(Result::ok).take(200);
    let has_own = lines
        .any(|line| line.contains(&own) && line.contains(",IO Read Bytes/sec,") && line.contains(",ok,"));
    let walks = lines.any(|line| line.contains(",Source Layer,1,ok,"));
    // The pipe is read on, so that the server does not wait for it.
    let reader = std::thread::spawn(move || out.map_while(Result::ok).count());
    let thief = thief.wait_with_output()?;
    let said = String::from_utf8_lossy(&thief.stderr).into_owned();
    ensure!(thief.status.success(), "the process that tries to take them failed: {said}");
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    drop(server);
    ensure!(reader.join().is_ok(), "its reader panicked");
    ensure!(has_own && walks, "no walk, or no row of its own: {walks}, {has_own}");
    ensure!(status.contains("CapPrm:\t0000000000000000"), "it has capabilities: {status}");
    let said = String::from_utf8(thief.stdout)?;
    let (tries, taken) = said.trim().split_once(' ').unwrap_or((said.trim(), ""));
    ensure!(taken.is_empty(), "another process of its user took {taken}");
    Ok(format!(": {tries} tries, nothing taken"))
}
