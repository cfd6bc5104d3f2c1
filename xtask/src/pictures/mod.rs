//! `cargo xtask pictures`: pictures of the command's screens and a recorded session, for the front page.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::live::tmux::Terminal;
use crate::repository::{root, target};

mod svg;

/// Draw the command's screens and a session for the front page, as root on Linux with tmux
#[derive(clap::Args)]
pub struct Args {
    /// Command that is drawn: a file with the name `perfset`
    #[arg(long, value_name = "FILE")]
    perfset: Option<PathBuf>,
    /// Directory of the pictures
    #[arg(long, value_name = "DIR", default_value = "docs/images")]
    out: PathBuf,
}

/// Columns and lines of the drawn terminal.
const SIZE: (usize, usize) = (80, 24);

/// Time before a picture of the screen is taken, in which the load begins and the strips of charts fill.
const RUN_UP: Duration = Duration::from_secs(50);

/// Interval between two drawn screens of the session.
const STEP: Duration = Duration::from_millis(100);

/// Shell commands of the load that the pictures show. They are a program with 200 MiB, archives, a search, a writer
/// with pauses, and a compressor that begins after the screens.
const LOAD: &str = "{
    python3 -c 'import time
held = bytearray(200 << 20)
while sum(range(1000000)): time.sleep(0.3)' &
    while sleep 2; do head -c 8M /dev/urandom | nice gzip >archive.gz; done &
    while sleep 1; do nice find /usr/share >found; done &
    while sleep 3; do nice dd if=/dev/zero of=written bs=256K count=400 oflag=direct; done &
    { sleep 20; exec xz -6; } </dev/urandom >/dev/null &
} 2>/dev/null;";

/// Lines typed in the drawn session, each with the seconds that its result stays, and the keys pressed then.
const SESSION: [(&str, u64, &str); 4] = [
    ("perfset find disk full", 4, ""),
    ("perfset get mem 1 3", 4, ""),
    ("perfset", 5, "q"),
    ("perfset top 1", 5, ">>>q"),
];

/// Takes the pictures of the screens and the session, and writes them.
pub fn run(args: &Args) -> Result<()> {
    let perfset = args.perfset.clone().unwrap_or_else(|| target().join("dist/perfset"));
    let perfset = perfset.canonicalize().with_context(|| format!("no {}", perfset.display()))?;
    let out = root().join(&args.out);
    let folder = target().join("pictures");
    std::fs::create_dir_all(&folder)?;
    let stage = Stage { perfset: &perfset, folder: &folder };
    for (command, name) in [("perfset", "overview"), ("perfset top 1", "top")] {
        let terminal = stage.open(command)?;
        sleep(RUN_UP);
        write(&out, name, &[(terminal.coloured_screen()?, STEP)], command)?;
    }
    let session = record(&stage.open("bash --noprofile --norc")?)?;
    write(&out, "session", &session, "find, get, the overview and top")
}

fn write(out: &Path, name: &str, screens: &[(String, Duration)], title: &str) -> Result<()> {
    let file = out.join(format!("{name}.svg"));
    let picture = svg::draw(screens, SIZE, title);
    std::fs::write(&file, &picture).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{}: {} screens, {} KiB", file.display(), screens.len(), picture.len() / 1024);
    Ok(())
}

/// Linux namespaces for a picture, in which only the load and the drawn command are visible.
struct Stage<'a> {
    perfset: &'a Path,
    folder: &'a Path,
}

impl Stage<'_> {
    /// Starts the drawn command on a terminal, beside the load.
    ///
    /// The namespaces hide the machine's name, the processes and control groups of others, and recordings of this user.
    fn open(&self, command: &str) -> Result<Terminal> {
        let folder = self.folder.display();
        let programs = self.perfset.parent().context("a directory")?.display();
        let shell = format!(
            "hostname web1; mount -t tmpfs none /sys/fs/cgroup; cd {folder}; \
             export HOME={folder} XDG_RUNTIME_DIR={folder} PATH={programs}:$PATH LC_ALL=C.UTF-8 PS1='$ '; \
             unset PROMPT_COMMAND HISTFILE; {LOAD} {command}"
        );
        let quoted = format!("'{}'", shell.replace('\'', r"'\''"));
        Terminal::open(&format!(
            "exec unshare --uts --mount --pid --fork --kill-child --mount-proc bash -c {quoted}"
        ))
    }
}

/// Types the lines of the session and returns its screens, each with the time that it stays.
fn record(terminal: &Terminal) -> Result<Vec<(String, Duration)>> {
    let mut screens = Vec::new();
    let begun = Instant::now();
    while !terminal.screen()?.starts_with('$') {
        ensure!(begun.elapsed() < Duration::from_secs(10), "the shell has no prompt");
        sleep(STEP);
    }
    let mut watch = |time: Duration| -> Result<()> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let (screen, now) = (terminal.coloured_screen()?, Instant::now());
            if screens.last().is_none_or(|(last, _)| *last != screen) {
                screens.push((screen, now));
            }
            sleep(STEP.min(end.saturating_duration_since(now)));
        }
        Ok(())
    };
    for (line, seconds, keys) in SESSION {
        for key in line.chars() {
            terminal.press(&key.to_string())?;
            watch(STEP / 2)?;
        }
        watch(5 * STEP)?;
        terminal.press("\r")?;
        watch(Duration::from_secs(seconds))?;
        for key in keys.chars() {
            terminal.press(&key.to_string())?;
            watch(8 * STEP)?;
        }
        terminal.press("clear\r")?;
        sleep(2 * STEP);
    }
    let ends: Vec<Instant> =
        screens.iter().skip(1).map(|(_, begin)| *begin).chain([Instant::now()]).collect();
    Ok(screens.into_iter().zip(ends).map(|((screen, begin), end)| (screen, end - begin)).collect())
}
