//! Checks of facts about processes against the kernel's files, for root and for another user.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::finished;
use super::owned::{ForAll, Running};
use crate::repository::target;

/// Checks the facts about a process of root: for root, and for another user with and without a request for command
/// lines.
pub fn check() -> Result<String> {
    const SECRET: &str = "--password=hunter2";
    let mut command = Command::new("sh");
    command.args(["-c", "sleep 600; true", "a b", SECRET]).stdin(Stdio::null()).stderr(Stdio::null());
    let process = Running(command.spawn().context("cannot start sh")?);
    let pid = process.0.id();
    let program = ForAll::copy_of(&target().join("release/perfset"))?;
    let facts = |user: &[&str], options: &[&str]| -> Result<BTreeMap<String, String>> {
        let mut command = Command::new("setpriv");
        command.args(user).arg(&program.program).args(["instances", "process v2", "--facts"]).args(options);
        let out = finished(command.stdin(Stdio::null()).output().context("cannot start setpriv")?)?;
        let of = out.lines().skip_while(|line| !line.starts_with(&format!("sh:{pid} "))).skip(1);
        let of = of.take_while(|line| line.starts_with("    "));
        let fact = |line: &str| {
            line.trim().split_once(' ').map(|(kind, text)| (kind.to_owned(), text.trim().to_owned()))
        };
        Ok(of.filter_map(fact).collect())
    };
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let words = format!("sh -c 'sleep 600; true' 'a b' {SECRET}");
    let root = facts(&[], &[])?;
    let executable = fs::read_link(format!("/proc/{pid}/exe"))?.display().to_string();
    for (kind, want) in [("user", "root"), ("command_line", &words), ("executable", &executable)] {
        ensure!(root.get(kind).is_some_and(|got| got == want), "root sees as {kind}: {root:?}");
    }
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
    let group = root.get("cgroup").context("no cgroup")?;
    ensure!(groups.lines().any(|line| line.ends_with(&format!(":{group}"))), "{group} is none of {groups}");
    let other = facts(&nobody, &[])?;
    ensure!(!format!("{other:?}").contains(SECRET), "another user sees the command line: {other:?}");
    ensure!(other.get("executable").is_some_and(|text| text.starts_with("- (denied: ")), "{other:?}");
    let asked = facts(&nobody, &["--with-command-lines"])?;
    ensure!(asked.get("command_line") == Some(&words), "another user who asks sees {asked:?}");
    Ok(String::new())
}
