//! Check of the table in `docs/guides/services.md`: visibility of the counters of services and containers.
//!
//! A machine of its own, in namespaces: own `/run`, `/tmp` and process ids. What systemd's options do is done by
//! mounts.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::owned::Folder;
use super::{faults, finished};
use crate::repository::{root, target};

/// Shell functions of the simulated machine: `as_NAME COMMAND` runs a command in an environment.
const MACHINE: &str = r#"
    programs=$1 mount_options=$2
    mount -t tmpfs -o mode=755 tmpfs /mnt
    cp "$programs"/* /mnt; chmod 755 /mnt/*
    mkfifo /mnt/input; chmod 666 /mnt/input; exec 3<> /mnt/input
    mkdir /mnt/share
    { cat /etc/group; echo perfset:x:4242:; } > /mnt/group
    mount --bind /mnt/group /etc/group
    mount -t tmpfs -o mode=755 tmpfs /run
    mount -t tmpfs -o mode=1777 tmpfs /tmp
    mkdir -p /run/user/1000
    chown 1000:1000 /run/user/1000; chmod 700 /run/user/1000
    unset PERFSET_RUNTIME_DIR XDG_RUNTIME_DIR
    share() { mkdir /run/perfset; mount -t tmpfs -o "$mount_options" tmpfs /run/perfset; }

    by() { user=$1; shift; setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }
    # PrivateTmp=yes
    private_tmp="mount -t tmpfs -o mode=1777 tmpfs /tmp"
    # ProtectSystem=strict: all that is mounted is read-only, except what is named
    strict='for point in / /run /tmp /mnt /run/perfset; do
        case " $writable " in *" $point "*) continue;; esac
        if mountpoint -q "$point"; then mount -o remount,bind,ro "$point"; fi
    done'
    in_mounts() { setup=$1; shift; unshare --mount sh -euc "$setup"'; exec "$@"' sh "$@"; }
    service() { setpriv --reuid 990 --regid 990 --clear-groups "$@"; }

    as_session() { setpriv --reuid 1000 --regid 1000 --clear-groups env XDG_RUNTIME_DIR=/run/user/1000 "$@"; }
    as_cron() { by 1000 "$@"; }
    as_root() { "$@"; }
    as_member() { setpriv --reuid 1001 --regid 1001 --groups 4242 "$@"; }
    as_other() { by 1002 "$@"; }
    as_private_tmp() { in_mounts "$private_tmp" setpriv --reuid 990 --regid 990 --clear-groups "$@"; }
    as_strict() { in_mounts "writable=; $strict" setpriv --reuid 990 --regid 990 --clear-groups "$@"; }
    as_strict_drop_in() {
        in_mounts "writable=/run/perfset; $strict" setpriv --reuid 990 --regid 990 --clear-groups "$@"
    }
    # DynamicUser=yes: a user that does not exist, PrivateTmp, ProtectSystem=strict, RuntimeDirectory
    dynamic() {
        mkdir -p /run/service; chown 61184:61184 /run/service
        writable=$1; shift
        in_mounts "mkdir -p /run/service; writable='/tmp /run/service $writable'; mount --bind /run/service /run/service
            $private_tmp; $strict" \
            setpriv --reuid 61184 --regid 61184 --clear-groups env RUNTIME_DIRECTORY=/run/service "$@"
    }
    as_dynamic() { dynamic "" "$@"; }
    as_dynamic_drop_in() { dynamic /run/perfset "$@"; }
    # a service that reads, with the drop-in for readers
    as_reader() {
        in_mounts "writable=/tmp; $private_tmp; $strict" \
            setpriv --reuid 991 --regid 991 --groups 4242 "$@"
    }
    container() {
        setup=$1; shift
        unshare --mount --pid --fork --kill-child --mount-proc sh -euc "$setup"'
            mount -t tmpfs -o mode=755 tmpfs /run
            mount -t tmpfs -o mode=1777 tmpfs /tmp
            if mountpoint -q /mnt/share; then mkdir /run/perfset; mount --bind /mnt/share /run/perfset; fi
            exec "$@"' sh "$@"
    }
    as_container() { container : "$@"; }
    as_container_shared() {
        container "if mountpoint -q /run/perfset; then mount --bind /run/perfset /mnt/share; fi" "$@"
    }

    # Starts a publisher, waits until it published, and keeps what it says in $said.
    publish() {
        mkfifo -m 666 /mnt/output
        "$@" /mnt/faults status 1234567 < /mnt/input > /mnt/output 2>&1 & publisher=$!
        read -r said < /mnt/output
        rm /mnt/output
    }
    # Ends all that is published.
    unpublish() {
        kill -9 "$publisher"; wait "$publisher" 2> /dev/null || true
        find /run /tmp -xdev -name '*.pfs' -delete; rm -rf /run/perfset/* /tmp/perfset-*
    }
    sees() {
        if "$@" /mnt/perfset get --raw --format csv '\Fault Writer(*)\Three' 2> /mnt/error | grep -q ',3703701,'
        then echo yes; else echo no; fi
    }
"#;

/// Runs a shell script in a simulated machine with its own mounts. The shared directory has the options of the
/// shipped systemd unit.
fn machine(script: &str) -> Result<String> {
    let programs = Folder::in_memory("services")?;
    for from in [target().join("release/perfset"), faults()] {
        let name = from.file_name().context("the program has no name")?;
        std::fs::copy(&from, programs.0.join(name))
            .with_context(|| format!("cannot copy {}", from.display()))?;
    }
    let unit = std::fs::read_to_string(root().join("packaging/systemd/run-perfset.mount"))?;
    let options =
        unit.lines().find_map(|line| line.strip_prefix("Options=")).context("the unit has no options")?;
    let options = options.replace("%%", "%").replace("gid=perfset", "gid=4242");
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-euc"]);
    command.arg(format!("{MACHINE}{script}")).arg("sh").arg(&programs.0).arg(options).stdin(Stdio::null());
    finished(command.output().context("cannot start unshare")?)
}

/// Names of the environments that publish counters, in the script and on the documentation page.
const PUBLISHERS: [(&str, &str); 9] = [
    ("session", "login session"),
    ("cron", "`cron`, `su`"),
    ("private_tmp", "service, PrivateTmp"),
    ("strict", "service, ProtectSystem=strict"),
    ("strict_drop_in", "ProtectSystem=strict, `publisher.conf`"),
    ("dynamic", "service, DynamicUser"),
    ("dynamic_drop_in", "DynamicUser, `publisher.conf`"),
    ("container", "container"),
    ("container_shared", "container, directory shared"),
];
const READERS: [&str; 8] =
    ["session", "cron", "root", "member", "other", "reader", "container_shared", "container"];

/// Row of the documentation's table for a publisher: for each reader yes, or no with a letter, and the text of
/// `status()`.
struct Row {
    cells: Vec<String>,
    status: String,
}

/// Returns the tables of the documentation page, without and with the shared directory, by publisher.
fn tables(page: &str) -> Vec<BTreeMap<String, Row>> {
    let mut tables = Vec::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if cells.len() != READERS.len() + 4 {
            continue;
        }
        if cells.get(1) == Some(&"publisher") {
            tables.push(BTreeMap::new());
        } else if !line.starts_with("|-") {
            let (publisher, rest) =
                (cells.get(1).copied().unwrap_or_default(), cells.get(2..).unwrap_or_default());
            let (cells, status) = rest.split_at(READERS.len());
            let row = Row {
                cells: cells.iter().map(|cell| (*cell).to_owned()).collect(),
                status: status.first().copied().unwrap_or_default().trim_matches('`').to_owned(),
            };
            if let Some(table) = tables.last_mut() {
                table.insert(publisher.to_owned(), row);
            }
        }
    }
    tables
}

/// Checks that every cell of the documentation's tables is true, and that each "no" has a reason and a remedy.
pub fn visible() -> Result<String> {
    const CONTAINER: &str =
        "; programs outside this container see them only if the directory is shared with it";
    let page = std::fs::read_to_string(root().join("docs/guides/services.md"))?;
    let tables = tables(&page);
    ensure!(tables.len() == 2, "the page has {} tables", tables.len());
    let (mut count, mut wrong) = (0, Vec::new());
    for (table, setup) in tables.iter().zip(["", "share"]) {
        let mut script = format!("{setup}\n");
        let mut names = BTreeMap::new();
        for (publisher, name) in PUBLISHERS {
            if !table.contains_key(name) {
                continue; // without the directory there is nothing that a drop-in could let in
            }
            script += &format!("publish as_{publisher}\necho \"{publisher}|status|$said\"\n");
            for reader in READERS {
                script += &format!("echo \"{publisher}|{reader}|$(sees as_{reader})\"\n");
            }
            script += "unpublish\n";
            names.insert(publisher, name);
        }
        ensure!(names.len() == table.len(), "the page has rows that are no environments: {:?}", table.keys());
        let said = machine(&script)?;
        for line in said.lines() {
            let mut parts = line.splitn(3, '|');
            let (Some(publisher), Some(reader), Some(found)) = (parts.next(), parts.next(), parts.next())
            else {
                bail!("{line:?} is said");
            };
            let row = names.get(publisher).and_then(|name| table.get(*name)).context("a row")?;
            count += 1;
            if reader == "status" {
                ensure!(
                    found.contains(CONTAINER) || found.starts_with("not published"),
                    "{publisher}: {found}"
                );
                // The machine of this test is a container itself.
                let is_container = publisher.starts_with("container");
                let told = if is_container { found.to_owned() } else { found.replace(CONTAINER, "") };
                if !told.starts_with(&row.status) || row.status.is_empty() {
                    wrong.push(format!("{publisher}, status: {told:?}, not {:?}", row.status));
                }
                continue;
            }
            let at = READERS.iter().position(|known| *known == reader).context("a reader")?;
            let cell = row.cells.get(at).map(String::as_str).unwrap_or_default();
            let (told, why) = cell.split_once(' ').unwrap_or((cell, ""));
            if told != found {
                wrong.push(format!("{publisher}, {reader}, {setup:?}: {found}, not {cell:?}"));
            }
            let is_explained = why.len() == 1 && page.contains(&format!("\n- **{why}**: "));
            ensure!(
                (told == "yes" && why.is_empty()) || is_explained,
                "{publisher}, {reader}: {cell:?} says no reason"
            );
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n  "));
    Ok(format!(": {count} cells"))
}

/// Checks that another user who took the name of a publisher's directory hides nothing, and is reported.
pub fn taken_names() -> Result<String> {
    let text = machine(
        r#"by 1001 mkdir /tmp/perfset-1000
           publish as_cron; echo "status $said"
           for reader in cron root; do echo "$reader $(sees as_$reader)"; done
           for reader in cron root other; do
               as_$reader /mnt/perfset doctor > /mnt/doctor
               sed -n "s/^/$reader /;/perfset-1000:/p" /mnt/doctor
           done
           as_cron /mnt/perfset list > /mnt/list; grep -c 'Fault Writer' /mnt/list
           unpublish"#,
    )?;
    let says = |line: &str| text.lines().any(|said| said.starts_with(line));
    ensure!(says("status /tmp/perfset-1000."), "it publishes elsewhere: {text}");
    ensure!(says("cron yes") && says("root yes") && says("1"), "it is hidden: {text}");
    for reader in ["cron", "root"] {
        let warned = format!("{reader} warn  /tmp/perfset-1000: the directory belongs to user 1001");
        ensure!(says(&warned), "the doctor of {reader} does not say it: {text}");
    }
    Ok(String::new())
}

/// Checks that reading published counters costs no more than the limits, however much other users publish.
pub fn limits() -> Result<String> {
    const MOST_MIB: u64 = 192;
    const MOST_SECONDS: f64 = 5.0;
    let text = machine(
        r#"share
           mkfifo -m 666 /mnt/output
           for user in 2001 2002 2003 2004; do
               by $user /mnt/faults fill 150000 < /mnt/input > /mnt/output & read -r said < /mnt/output
           done
           # A user with little is not pushed out by those with much.
           by 2005 /mnt/faults hold 1234567 < /mnt/input > /mnt/output & read -r said < /mnt/output
           echo "files $(du -sm /run/perfset | cut -f1)"
           /mnt/perfset get --raw --format csv '\Fault Writer(*)\Three' > /mnt/out 2> /mnt/error & reader=$!
           peak=0 ticks=0
           while kill -0 $reader 2> /dev/null; do
               now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$reader/status 2> /dev/null || true)
               if [ -n "$now" ] && [ "$now" -gt "$peak" ]; then peak=$now; fi
               now=$(awk '{print $14 + $15}' /proc/$reader/stat 2> /dev/null || true)
               if [ -n "$now" ]; then ticks=$now; fi
               sleep 0.02
           done
           wait $reader
           echo "ms $((ticks * 10))"
           echo "peak $((peak / 1024))"
           echo "rows $(($(wc -l < /mnt/out) - 1))"
           echo "little $(grep -c '2005/1234567' /mnt/out)"
           grep '^note' /mnt/error
           as_root /mnt/perfset list fault | tail -n 1
           as_root /mnt/perfset doctor | grep 'files of other users'"#,
    )?;
    let number = |what: &str| -> Result<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("{what} ")));
        Ok(line.with_context(|| format!("no {what}: {text}"))?.parse()?)
    };
    let (files, ms, peak, rows) = (number("files")?, number("ms")?, number("peak")?, number("rows")?);
    ensure!(rows <= 100_000 && number("little")? == 1, "{text}");
    ensure!(peak > 0 && peak <= MOST_MIB, "{peak} MiB of memory for {files} MiB of files: {text}");
    let seconds = ms as f64 / 1000.0;
    ensure!(seconds <= MOST_SECONDS, "{seconds} s of CPU time for {files} MiB of files");
    let left_out = text
        .lines()
        .filter(|line| line.contains("of other users are left out: at most 64 MiB and 100,000"))
        .count();
    ensure!(left_out >= 2, "get and list say what is left out: {text}");
    ensure!(text.contains("files of other users: at most 64 MiB and 100,000 instances are read"), "{text}");
    Ok(format!(": {rows} rows of {files} MiB of files in {seconds:.1} s of CPU time and {peak} MiB"))
}
