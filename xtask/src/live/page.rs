//! The page of `perfset serve` in a browser: `xtask/browser/page.js` drives Chromium through it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::disks::Image;
use super::owned::{Folder, Running};
use super::{browser_tools, faults, perfset};
use crate::repository::{run as run_program, target};

/// Maximum time for all checks in the browser.
const PATIENCE: Duration = Duration::from_secs(600);

const TOKEN: &str = "a-token-that-stays-when-the-server-is-restarted";

/// Instance names that would run a script if the page did not treat them as text.
const NAMES: [&str; 2] = ["<script>owned=1</script>", "\"><img src=x onerror=\"owned=1\">"];

/// Checks the server's page in a browser, on a machine that has other work.
pub fn busy() -> Result<String> {
    check("--busy")
}

/// Checks what the server's page shows rightly only if nothing else keeps the processors busy.
pub fn alone() -> Result<String> {
    check("--alone")
}

/// Runs checks of `page.js` in a browser; prints figures, and fails with all failed checks.
fn check(which: &str) -> Result<String> {
    let browser = browser_tools()?;
    let folder = Folder::new("page")?;
    let run = folder.0.join("run");
    std::fs::create_dir(&run)?;
    let token = folder.0.join("token");
    std::fs::write(&token, TOKEN)?;
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600))?;
    let _strangers = Running(
        Command::new(faults())
            .arg("named")
            .args(NAMES)
            .env("PERFSET_RUNTIME_DIR", &run)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?,
    );
    // The page must find it, by its name.
    let image = Image::mount(&folder)?;
    image.fill()?;
    let mut server = Server::start(&run, &token, "127.0.0.1:0", &[])?;
    // A second server, beside a recorder that is as quick as it can be.
    let recording = folder.0.join("recording");
    let mut recorder = perfset();
    recorder.args(["record", "--cpu", "never", "--dir"]).arg(&recording).stderr(Stdio::null());
    let _recorder = Running(recorder.stdout(Stdio::null()).spawn()?);
    let begun = Instant::now();
    while !perfset().args(["log", "info"]).arg(&recording).output()?.status.success() {
        ensure!(begun.elapsed() < Duration::from_secs(10), "the recorder has no sample after 10 s");
        std::thread::sleep(Duration::from_millis(50));
    }
    let recorded =
        Server::start(&run, &token, "127.0.0.1:0", &["--recording".as_ref(), recording.as_os_str()])?;
    let mut script = Running(
        Command::new("node")
            .args(["page.js", &format!("{}?token={TOKEN}", server.url), which])
            .current_dir(&browser)
            .env("FULL_FILE_SYSTEM", &image.mount_point)
            .env("RECORDED", format!("{}?token={TOKEN}", recorded.url))
            .env("RECORDING", &recording)
            .env("PERFSET", target().join("release/perfset"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start node")?,
    );
    let mut input = script.0.stdin.take().context("its input")?;
    let lines = lines_of(script.0.stdout.take().context("its output")?);
    let end = Instant::now() + PATIENCE;
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    while let Ok(line) = lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
        if line == "please restart" {
            let address = server.address()?;
            drop(server);
            std::thread::sleep(Duration::from_secs(4)); // as long as the page needs to notice, and for a gap to see
            server = Server::start(&run, &token, &address, &[])?;
            writeln!(input, "done")?;
        } else if line == "please stand still" {
            server.signal("STOP")?;
            std::thread::sleep(Duration::from_secs(9));
            server.signal("CONT")?;
            writeln!(input, "done")?;
        } else if let Some(name) = line.strip_prefix("ok ") {
            passed.push(name.to_owned());
        } else {
            failed.push(line);
        }
    }
    ensure!(
        Instant::now() < end,
        "the browser is not done after {PATIENCE:?}; passed: {}",
        passed.join("; ")
    );
    let status = script.0.wait()?;
    ensure!(failed.is_empty() && status.success(), "{}: {status}", failed.join("; "));
    ensure!(!passed.is_empty(), "page.js has no check for {which:?}");
    Ok(passed.iter().map(|line| format!("\n        {line}")).collect())
}

fn lines_of(output: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// Running `perfset serve`, ended when this value is dropped.
struct Server {
    child: Running,
    /// Address of the page, as the server prints it.
    url: String,
}

impl Server {
    fn start(run: &Path, token: &Path, address: &str, more: &[&OsStr]) -> Result<Self> {
        let mut command = perfset();
        command
            .args(["serve", "--listen", address, "--token-file"])
            .arg(token)
            .args(more)
            .stdout(Stdio::null());
        let mut child = Running(command.env("PERFSET_RUNTIME_DIR", run).spawn()?);
        let lines = lines_of(child.0.stderr.take().context("its messages")?);
        let mut said = String::new();
        while let Ok(line) = lines.recv_timeout(Duration::from_secs(10)) {
            if let Some(url) = line.split_whitespace().find(|word| word.starts_with("http://")) {
                let url = url.to_owned();
                // What it says later is read, so that it never waits for a reader.
                spawn(move || lines.iter().for_each(drop));
                return Ok(Self { child, url });
            }
            said = said + &line + "; ";
        }
        bail!("perfset serve does not say where it listens: {said}")
    }

    fn signal(&self, name: &str) -> Result<()> {
        run_program(Command::new("kill").args([&format!("-{name}"), &self.child.0.id().to_string()]))
    }

    fn address(&self) -> Result<String> {
        let rest = self.url.strip_prefix("http://").context("a URL")?;
        Ok(rest.split(['/', '?']).next().unwrap_or_default().to_owned())
    }
}
