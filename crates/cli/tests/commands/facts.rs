//! Tests of `perfset instances --facts`: facts about processes, disks and interfaces of fixtures.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::running::{outcome, perfset, run, scratch, testdata};

/// Creates the files of a machine on which process 300 has a command line, an executable and a control group.
fn machine(name: &str) -> PathBuf {
    let folder = scratch(name);
    let mut copy = Command::new("cp");
    copy.args(["-r", "--no-preserve=mode"]).arg(testdata("linux/processes/proc")).arg(&folder);
    assert!(copy.status().unwrap().success());
    let process = folder.join("proc/300");
    fs::write(process.join("cmdline"), "mail\0--password\0hunter 2\x1b[2J\0").unwrap();
    fs::write(process.join("cgroup"), "0::/system.slice/mail.service\n").unwrap();
    std::os::unix::fs::symlink("/usr/bin/mail", process.join("exe")).unwrap();
    fs::create_dir(folder.join("etc")).unwrap();
    fs::write(folder.join("etc/passwd"), "ada:x:61:61::/:/bin/sh\n").unwrap();
    folder
}

fn instances(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = perfset("processes", &[&["instances", "process v2"], args].concat());
    outcome(command.env("PERFSET_PROC", folder.join("proc")).output().unwrap())
}

/// Returns the printed lines of facts below the instance with this id.
fn facts_of(out: &str, id: &str) -> Vec<String> {
    let of =
        out.lines().skip_while(|line| !line.ends_with(&format!(" {id}")) || line.starts_with(' ')).skip(1);
    of.take_while(|line| line.starts_with("    ")).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn facts_are_below_their_process() {
    let folder = machine("facts");
    let (code, out, err) = instances(&folder, &["--facts", "--with-command-lines"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let facts = facts_of(&out, "300");
    for want in [
        "command_line  mail --password 'hunter 2\\u{1b}[2J'",
        "executable    /usr/bin/mail",
        "cgroup        /system.slice/mail.service",
        "unit          mail.service",
    ] {
        assert!(facts.iter().any(|fact| fact == want), "{want}: {out}");
    }
    assert!(facts.iter().any(|fact| fact.starts_with("user ")), "{out}");
    assert_eq!(facts.len(), 5, "{out}");
    // The sum and the idle time are no processes.
    assert!(facts_of(&out, "4294967294").is_empty() && facts_of(&out, "0").is_empty(), "{out}");
    let (_, plain, _) = instances(&folder, &[]);
    assert!(!plain.contains("mail.service") && !plain.contains("hunter"), "{plain}");
}

#[test]
fn facts_as_json_and_csv() {
    let folder = machine("facts-json");
    let (code, out, err) = instances(&folder, &["--facts", "--with-command-lines", "--format", "json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let facts: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of =
        |kind: &str| facts.iter().find(|fact| fact["instance_id"] == 300 && fact["fact"] == kind).unwrap();
    assert_eq!(of("command_line")["text"], "mail --password 'hunter 2\u{1b}[2J'");
    assert_eq!(
        (&of("unit")["text"], &of("unit")["reason"]),
        (&"mail.service".into(), &serde_json::Value::Null)
    );
    assert!(!out.contains('\u{1b}'), "{out}");
    let missing = facts.iter().find(|fact| fact["text"].is_null()).unwrap();
    assert!(missing["reason"].as_str().unwrap().starts_with("unavailable: "), "{missing}");
    let (code, csv, _) = instances(&folder, &["--facts", "--format", "csv"]);
    assert_eq!(code, 0);
    assert!(csv.starts_with("counterset,instance,instance_id,fact,text,reason\n"), "{csv}");
    // A name of this fixture has a line end.
    assert!(csv.lines().count() > facts.len(), "{csv}");
    let (_, plain, _) = instances(&folder, &["--format", "json"]);
    assert!(!plain.contains("fact"), "{plain}");
}

/// Checks that command lines are shown only on request. To root they are shown without the option, so that the
/// expectation depends on who runs the tests.
#[test]
fn command_lines_need_a_request() {
    let folder = machine("facts-secret");
    let is_root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    let (code, out, _) = instances(&folder, &["--facts"]);
    assert_eq!(code, 0);
    assert_eq!(out.contains("hunter"), is_root, "{out}");
    assert_eq!(instances(&folder, &["--with-command-lines"]).0, 2);
    let log = testdata("logs/limits.csv").display().to_string();
    assert_eq!(run("processes", &["instances", "queue", "--facts", "--log", &log]).0, 2);
}

#[test]
fn disks_and_interfaces() {
    let (code, out, err) = run("two-nodes", &["instances", "network interface", "--facts"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("    speed         40009 Mbit/s\n"), "{out}");
    let (code, out, err) = run("small-vm", &["instances", "physicaldisk", "--facts"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("    mount_points  "), "{out}");
}
