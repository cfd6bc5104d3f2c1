//! Checks of output files at paths with other users' links and devices, and of escaped names on a terminal.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::owned::Folder;
use super::{finished, perfset};
use crate::repository::{root, target};

/// Log that the checks of output files convert; the next constant is a counter of it.
const LOG: &str = "testdata/logs/BasicPerfCounters.blg";
const ONE: &str = r"\PhysicalDisk(0 C:)\Avg. Disk Queue Length";

/// Checks that no writing command of root follows another user's link in a sticky directory, and that links of the same
/// user or of root are followed.
pub fn links() -> Result<String> {
    let [safe, shared] = ["files-safe", "files-shared"].map(Folder::new);
    let (safe, shared) = (safe?, shared?);
    fs::set_permissions(&shared.0, PermissionsExt::from_mode(0o1777))?;
    let log = root().join(LOG);
    let manifest = first_manifest()?;
    let by_nobody = |name: &str, target: &Path| -> Result<()> {
        let mut link = Command::new("setpriv");
        link.args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "ln", "-s"]);
        finished(link.arg(target).arg(shared.0.join(name)).output()?)?;
        Ok(())
    };
    by_nobody("folder", &safe.0)?;
    // What a command writes, its arguments before the file, and the ending of the file.
    let [log, manifest] = [&log, &manifest].map(|path| path.display().to_string());
    let commands: &[(&[&str], &str)] = &[
        (&["relog", &log, "--force", "-o"], "csv"),
        (&["relog", &log, "-o"], "tsv"),
        (&["relog", &log, "-o"], "json"),
        (&["relog", &log, "-o"], "db"),
        (&["relog", &log, "--append", "-o"], "db"),
        (&["plot", ONE, "--log", &log, "--force", "-o"], "svg"),
        (&["plot", ONE, "--log", &log, "-o"], "png"),
        (&["manifest", "generate", "--rust", &manifest, "-o"], "rs"),
        (&["manifest", "export", "Memory", "-o"], "man"),
        (&["v1", "query", "Global", "-o"], "bin"),
        (&["v1", "query", "Global", "-o", "/dev/null", "--names"], "names"),
        (&["doctor", "--warmup", "10ms", "--capture"], "capture"),
    ];
    let mut tried = 0;
    for (number, (args, ending)) in commands.iter().enumerate() {
        let name = format!("{number}.{ending}");
        by_nobody(&name, &safe.0.join(&name))?;
        for path in [shared.0.join(&name), shared.0.join("folder").join(&name)] {
            let output = perfset().args(*args).arg(&path).output()?;
            let says = String::from_utf8_lossy(&output.stderr);
            let is_refused = !output.status.success() && says.contains("is a symbolic link of another user");
            ensure!(is_refused, "{args:?} {}: {}: {says}", path.display(), output.status);
            tried += 1;
        }
        // Root's own link leads there.
        let own = safe.0.join(format!("own-{name}"));
        std::os::unix::fs::symlink(format!("target-{name}"), &own)?;
        finished(perfset().args(*args).arg(&own).output()?).with_context(|| format!("{args:?}"))?;
        ensure!(
            own.is_symlink() && safe.0.join(format!("target-{name}")).exists(),
            "{args:?}: a link of root"
        );
    }
    for more in [&["provider", "install", &manifest, "--dir"][..], &["man"]] {
        let output = perfset().args(more).arg(shared.0.join("folder")).output()?;
        let says = String::from_utf8_lossy(&output.stderr);
        ensure!(says.contains("is a symbolic link of another user"), "{more:?}: {says}");
        tried += 1;
    }
    let wrong =
        fs::read_dir(&safe.0)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let wrong: Vec<_> =
        wrong.filter(|name| !name.starts_with("own-") && !name.starts_with("target-")).collect();
    ensure!(wrong.is_empty(), "links of nobody led root to {wrong:?}");
    let protected = fs::read_to_string("/proc/sys/fs/protected_symlinks").unwrap_or_default();
    Ok(format!(": {tried} tried, 0 followed, fs.protected_symlinks={}", protected.trim()))
}

/// Returns the first valid manifest in `testdata/manifests`.
fn first_manifest() -> Result<std::path::PathBuf> {
    let folder = root().join("testdata/manifests");
    let mut files: Vec<_> = fs::read_dir(&folder)?.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "man"));
    files.sort();
    let is_good = |file: &std::path::PathBuf| {
        perfset().args(["manifest", "check"]).arg(file).status().is_ok_and(|status| status.success())
    };
    files.into_iter().find(is_good).context("there is no good manifest in testdata/manifests")
}

/// Checks as root that commands write to devices and do not replace them, in a mount namespace with its own `/dev`.
pub fn devices() -> Result<String> {
    let log = root().join(LOG);
    let script = format!(
        r#"set -e
mount -t tmpfs none /dev
mknod -m 666 /dev/null c 1 3
ln -s /proc/self/fd /dev/fd
ln -s /proc/self/fd/1 /dev/stdout
mkfifo /dev/pipe
ln -s /dev/null /dev/link.csv
p="{perfset}"
l="{log}"
for format in csv tsv json; do
  "$p" relog "$l" -o /dev/null --format $format
  "$p" relog "$l" -o /dev/null --format $format --force
  "$p" relog "$l" -o /dev/link.csv --format $format
  "$p" relog "$l" -o /dev/stdout --format $format | head -c 20 | grep -q .
  "$p" relog "$l" -o /dev/stdout --format $format > /dev/file
  test -s /dev/file
  "$p" relog "$l" -o /proc/self/fd/3 --format $format 3>/dev/null
  cat /dev/pipe > /dev/read & "$p" relog "$l" -o /dev/pipe --format $format; wait
  test -s /dev/read
done
! "$p" relog "$l" -o /dev/null --format sqlite 2>/dev/null
! "$p" relog "$l" -o /dev/null --format sqlite --force 2>/dev/null
! "$p" relog "$l" -o /dev/null --format sqlite --append 2>/dev/null
"$p" v1 query Global -o /dev/null
"$p" manifest export Memory -o /dev/null
"$p" manifest export Memory -o /dev/stdout | grep -q instrumentationManifest
echo begun > /dev/file
"$p" manifest export Memory -o /dev/stdout >> /dev/file
head -1 /dev/file | grep -q begun
test -c /dev/null -a -p /dev/pipe -a -L /dev/stdout -a -L /dev/link.csv -a -L /dev/fd
test "$(ls -A /dev | sort | tr '\n' ' ')" = "fd file link.csv null pipe read stdout "
"#,
        perfset = target().join("release/perfset").display(),
        log = log.display(),
    );
    let mut unshare = Command::new("unshare");
    let output = unshare.args(["--mount", "sh", "-c", &script]).stdin(Stdio::null()).output()?;
    finished(output)?;
    ensure!(fs::metadata("/dev/null")?.file_type().is_char_device(), "/dev/null is no device any more");
    Ok(String::new())
}

/// Checks that no name printed to a terminal controls the terminal or ends a line, and that names in a pipe are
/// unchanged.
pub fn terminal() -> Result<String> {
    const NAME: &str = "a\u{1b}]0;x\u{7}b\u{9b}31mc\u{2028}d\u{202e}e\u{200b}f";
    let folder = Folder::new("files-terminal")?;
    let log = folder.0.join("log.csv");
    fs::write(
        &log,
        format!(
            "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\H\\Set({NAME})\\Counter\"\r\n\
             \"11/05/2026 10:00:00.000\",\"1\"\r\n\"11/05/2026 10:00:01.000\",\"2\"\r\n"
        ),
    )?;
    let (log, get) = (log.display().to_string(), r"'\Set(*)\*'");
    let commands = [
        format!("get {get} --log {log}"),
        format!("get {get} --log {log} --format csv"),
        format!("get {get} --log {log} --format json"),
        format!("get {get} --log {log} --format pdh-csv"),
        format!("get {get} --log {log} --summary"),
        format!("get {get} --log {log} --top 1 --format csv"),
        format!("list --log {log}"),
        format!("instances Set --log {log}"),
        format!("log info {log}"),
        format!("log info --json {log}"),
        format!("relog {log} --list"),
        format!("relog {log} -o -"),
        format!("relog {log} -o /dev/stdout --format tsv"),
        format!("relog {log} -o - --format json"),
        format!("relog {log} -o /dev/tty --format json"),
        format!("plot {get} --log {log} -o -"),
    ];
    for command in &commands {
        let shown = Command::new("script")
            .args(["-q", "-e", "-c"])
            .arg(format!("{} {command} 2>/dev/null", target().join("release/perfset").display()))
            .arg("/dev/null")
            .stdin(Stdio::null())
            .output()
            .context("cannot start script (Debian package bsdutils)")?;
        let shown = finished(shown)?;
        let steers = |c: &char| {
            c.is_control() && !matches!(c, '\r' | '\n' | '\t') || "\u{2028}\u{202e}\u{200b}".contains(*c)
        };
        let found: Vec<char> = shown.chars().filter(steers).collect();
        ensure!(found.is_empty(), "{command}: {found:?} in {shown:?}");
    }
    let pipe = finished(perfset().args(["get", r"\Set(*)\*", "--log", &log, "--format", "csv"]).output()?)?;
    ensure!(pipe.contains(NAME), "in a pipe a name is as it is: {pipe:?}");
    Ok(format!(": {} ways to print a name", commands.len()))
}
