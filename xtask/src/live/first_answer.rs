//! Ten questions about a slow machine: the keys and seconds until a tool's first screen answers, at 80 by 24.

use std::any::Any;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::disks::{Image, Swap};
use super::finished;
use super::kernel_own::{Group, hierarchy};
use super::network::ip;
use super::owned::{Folder, Running};
use super::tmux::Terminal;

/// Names of the tools, and the commands that start them.
const TOOLS: [(&str, &str); 6] = [
    ("perfset", "perfset"),
    ("atop", "atop 1"),
    ("btop", "btop"),
    ("pidstat", "pidstat -urd 1"),
    ("htop", "htop -d 10"),
    ("perfset top", "perfset top 1"),
];

/// Number of tools that are tested without `--full`.
const ALWAYS: usize = 1;
/// Number of tools whose first screens perfset must not be slower than. The last tool is another screen of perfset.
const TABLES: usize = 5;

/// Time after which a tool counts as giving no answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// Pause between the start of a load and the start of a tool.
const SETTLED: Duration = Duration::from_millis(1_500);

/// Values that keep a load running until they are dropped.
pub type Load = Vec<Box<dyn Any>>;

/// Function that returns `true` if a line of a screen contains the answer.
type IsAnswer = fn(&str) -> bool;

struct Question {
    text: &'static str,
    load: fn(&Folder) -> Result<Load>,
    /// Functions that recognize the answering line of each tool.
    answers: [IsAnswer; 6],
    /// Keys that lead to the answer in each tool.
    keys: [&'static str; 6],
    /// `true` if the tool is started before the load.
    is_change: bool,
}

const NONE: IsAnswer = |_| false;

const QUESTIONS: [Question; 10] = [
    Question {
        text: "which process uses most processor time",
        load: |place| Ok(vec![spinner(place, "cpuhog")?]),
        answers: [
            |line| line.starts_with("cpuhog:"),
            |line| line.contains("cpuhog"),
            |line| line.contains("cpuhog"),
            |line| line.contains("cpuhog"),
            |line| line.contains("cpuhog"),
            |line| line.trim_start().starts_with("cpuhog:"),
        ],
        keys: [""; 6],
        is_change: false,
    },
    Question {
        text: "which process uses most memory",
        load: |place| {
            Ok(vec![python(place, "memhog", "b = b'x' * (700 << 20)\nimport time\ntime.sleep(600)")?])
        },
        answers: [
            |line| list(line, 1).starts_with("memhog:"),
            |line| line.contains("memhog"),
            |line| line.contains("memhog"),
            |line| line.contains("memhog"),
            |line| line.contains("memhog"),
            |line| line.trim_start().starts_with("memhog:"),
        ],
        keys: ["", "m", "m", "", "M", "M"],
        is_change: false,
    },
    Question {
        text: "which process reads and writes most",
        load: writer,
        answers: [
            |line| list(line, 2).starts_with("diskhog:"),
            |line| line.contains("diskhog"),
            |line| line.contains("diskhog"),
            |line| line.contains("diskhog"),
            |line| line.contains("diskhog"),
            |line| line.trim_start().starts_with("diskhog:"),
        ],
        keys: ["", "d", "", "", "\t", "D"],
        is_change: false,
    },
    Question {
        text: "is it swapping",
        load: swapping,
        answers: [
            |line| line.contains("memory is swapped"),
            |line| line.starts_with("PAG") && number_after(line, "swout").is_some_and(|pages| pages > 0.0),
            NONE,
            NONE,
            NONE,
            |line| number_after(line, "Pages Output/sec").is_some_and(|pages| pages > 0.0),
        ],
        keys: ["", "", "", "", "", "6"],
        is_change: false,
    },
    Question {
        text: "is the disk slow or only busy",
        load: writer,
        answers: [
            has_latency,
            |line| line.starts_with("DSK") && line.contains("busy") && line.contains("avio"),
            NONE,
            NONE,
            NONE,
            |line| line.contains(" ms") || line.contains(" µs"),
        ],
        keys: ["", "", "", "", "", "4"],
        is_change: false,
    },
    Question {
        text: "which control group uses the processor",
        load: |_| {
            let folder = hierarchy("", "cpuacct")?.join(format!("perfset-live-hog-{}", std::process::id()));
            let mut group = Group::make(folder)?;
            group.start("while :; do :; done")?;
            Ok(vec![Box::new(group)])
        },
        answers: [
            |line| line.contains("live-hog-") && line.contains('%'),
            |line| line.contains("live-hog"),
            NONE,
            NONE,
            NONE,
            |line| line.contains("live-hog"),
        ],
        keys: ["", "G", "", "", "", "2"],
        is_change: false,
    },
    Question {
        text: "is the network losing packets",
        load: losing,
        answers: [
            |line| line.contains("drops") && line.contains("packets a second"),
            |line| line.starts_with("NET") && number_after(line, "drpi").is_some_and(|drops| drops > 0.0),
            NONE,
            NONE,
            NONE,
            // Bytes, received, sent, then discarded packets.
            |line| {
                let mut words = line.split_whitespace();
                let drops = words.next().filter(|name| *name == ENDS[0]).and_then(|_| words.nth(3));
                drops.and_then(|drops| drops.parse::<f64>().ok()).is_some_and(|drops| drops > 0.0)
            },
        ],
        keys: ["", "", "", "", "", "5"],
        is_change: false,
    },
    Question {
        text: "is the machine waiting",
        load: |place| (0..6).map(|_| spinner(place, "waiter")).collect(),
        answers: [
            |line| {
                line.starts_with("waits for cpu ")
                    && number_after(line, "cpu").is_some_and(|share| share > 20.0)
            },
            |line| line.starts_with("PSI") && number_after(line, "cpusome").is_some_and(|share| share > 20.0),
            NONE,
            NONE,
            NONE,
            |line| {
                let some =
                    line.trim_start().strip_prefix("cpu").and_then(|rest| rest.split_whitespace().next());
                some.and_then(|share| share.parse::<f64>().ok()).is_some_and(|share| share > 20.0)
            },
        ],
        keys: ["", "", "", "", "", "8"],
        is_change: false,
    },
    Question {
        text: "is a file system full",
        load: full,
        answers: [
            |line| line.contains("full,") && line.contains("/mount"),
            NONE,
            |line| line.contains("mount") && line.contains("9"),
            NONE,
            NONE,
            |line| {
                line.contains("/mount")
                    && line
                        .split_whitespace()
                        .nth(1)
                        .is_some_and(|free| free.starts_with("0.") || free.len() == 3)
            },
        ],
        keys: ["", "", "", "", "", "7"],
        is_change: false,
    },
    Question {
        text: "what changed in the last minute",
        load: |place| Ok(vec![spinner(place, "newhog")?]),
        answers: [
            |line| line.contains("newhog:") && line.contains("started"),
            |line| line.contains("newhog") && line.contains(" N"),
            NONE,
            NONE,
            NONE,
            |line| line.starts_with("+newhog:"),
        ],
        keys: ["", "", "", "", "", "b"],
        is_change: true,
    },
];

/// Measures how fast perfset answers all questions; with `full`, measures the other tools too.
pub fn check(full: bool) -> Result<String> {
    let tools = if full { &TOOLS[..] } else { &TOOLS[..ALWAYS] };
    let mut table = String::new();
    let mut failed = Vec::new();
    for question in &QUESTIONS {
        let mut results = Vec::new();
        for (at, (name, command)) in tools.iter().enumerate() {
            let answer = ask(question, at, command).with_context(|| format!("{}: {name}", question.text))?;
            results.push(answer.map(|seconds| (question.keys[at].len(), seconds)));
        }
        let cells = results.iter().zip(tools).map(|(result, (name, _))| match result {
            Ok((keys, seconds)) => format!("{name} {keys} keys {seconds:.1} s"),
            Err(_) => format!("{name} -"),
        });
        table.push_str(&format!("\n        {}: {}", question.text, cells.collect::<Vec<_>>().join(", ")));
        // Tools redraw once a second, so a second decides nothing.
        let is_first = |ours: &(usize, f64)| {
            let peers = results.iter().take(TABLES).flatten();
            peers.into_iter().all(|(keys, seconds)| (ours.0, ours.1 - 1.0) <= (*keys, *seconds))
        };
        match &results[0] {
            Ok(ours) if is_first(ours) => {}
            Ok(_) => failed.push(format!("perfset is slower than another tool: {}", question.text)),
            Err(screen) => failed.push(format!("perfset does not answer: {}\n{screen}", question.text)),
        }
    }
    ensure!(failed.is_empty(), "{}{table}", failed.join("\n"));
    Ok(format!(": {} questions{table}", QUESTIONS.len()))
}

/// Returns the seconds until the screen of a tool shows the answer; the last screen if it does not.
fn ask(question: &Question, tool: usize, command: &str) -> Result<Result<f64, String>> {
    let place = Folder::new("first-answer")?;
    let mut load = if question.is_change { Vec::new() } else { (question.load)(&place)? };
    sleep(SETTLED);
    let terminal = Terminal::start(command)?;
    if question.is_change {
        sleep(SETTLED);
        load = (question.load)(&place)?;
    }
    let start = Instant::now();
    if !question.keys[tool].is_empty() {
        sleep(Duration::from_millis(500));
        terminal.press(question.keys[tool])?;
    }
    let answer = loop {
        sleep(Duration::from_millis(50));
        let screen = terminal.screen()?;
        if screen.lines().any(question.answers[tool]) {
            break Ok(start.elapsed().as_secs_f64());
        }
        if start.elapsed() >= PATIENCE {
            break Err(screen);
        }
    };
    drop(load);
    Ok(answer)
}

/// Returns the part of a line that begins at one of the three lists, which perfset shows beside each other in 80
/// columns.
fn list(line: &str, number: usize) -> &str {
    const BEGINNINGS: [usize; 3] = [0, 24, 50];
    line.char_indices().nth(BEGINNINGS[number]).and_then(|(at, _)| line.get(at..)).unwrap_or_default()
}

/// Returns `true` if the line is the row of a disk, or the finding about it: how busy it is in percent, and how long
/// requests took. An exclamation mark follows a number that is too high, without a blank.
fn has_latency(line: &str) -> bool {
    let line = line.replace('!', " ");
    let is_time = |word| ["s", "ms", "µs"].contains(&word);
    let mut words = line.split_whitespace().skip_while(|word| word.parse::<f64>().is_err()).skip(1);
    let is_busy = words.next() == Some("%") && !line.contains("process");
    is_busy && words.any(is_time)
}

/// Returns the number that follows a word in a line.
fn number_after(line: &str, word: &str) -> Option<f64> {
    let behind = line.split_once(word)?.1.trim_start();
    let digits = behind.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(behind.len());
    behind[..digits].parse().ok()
}

/// Copies a program under another name, so that its processes and command lines have that name.
fn copy(place: &Folder, program: &str, name: &str) -> Result<Command> {
    let copy = place.0.join(name);
    if !copy.exists() {
        fs::copy(program, &copy).with_context(|| format!("cannot copy {program}"))?;
    }
    let mut command = Command::new(copy);
    command.arg0(name);
    Ok(command)
}

fn running(command: &mut Command) -> Result<Box<dyn Any>> {
    let child: Child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(Box::new(Running(child)))
}

/// Starts a process that uses one processor.
fn spinner(place: &Folder, name: &str) -> Result<Box<dyn Any>> {
    running(copy(place, "/bin/sh", name)?.args(["-c", "while :; do :; done"]))
}

fn python(place: &Folder, name: &str, script: &str) -> Result<Box<dyn Any>> {
    let program = finished(Command::new("readlink").args(["-f", "/usr/bin/python3"]).output()?)?;
    running(copy(place, program.trim(), name)?.args(["-c", script]))
}

/// Starts a process that writes to a file, past the page cache.
pub fn writer(place: &Folder) -> Result<Load> {
    let file = place.0.join("written");
    let script = format!(
        "import mmap, os\nm = mmap.mmap(-1, 1 << 20)\n\
         f = os.open({:?}, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)\n\
         while True:\n for at in range(64): os.pwrite(f, m, at << 20)\n",
        path(&file)?
    );
    Ok(vec![python(place, "diskhog", &script)?])
}

/// Starts a process that uses more memory than its control group may have, on a machine with swap.
fn swapping(place: &Folder) -> Result<Load> {
    let file = place.0.join("swap");
    let made = Command::new("dd")
        .args(["if=/dev/zero", &format!("of={}", path(&file)?), "bs=1M", "count=256"])
        .output()?;
    finished(made)?;
    fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    finished(Command::new("mkswap").arg(&file).output()?)?;
    let swap = Swap::on(file)?;
    let folder = hierarchy("memory", "memory")?.join(format!("perfset-live-swap-{}", std::process::id()));
    let mut group = Group::make(folder.clone())?;
    for limit in ["memory.high", "memory.limit_in_bytes"] {
        let limit = folder.join(limit);
        if limit.exists() {
            fs::write(limit, (64_u64 << 20).to_string())?;
        }
    }
    let touch = "b = bytearray(160 << 20)\nwhile True:\n for at in range(0, len(b), 4096): b[at] = 1";
    group.start(&format!("exec python3 -c '{touch}'"))?;
    // The group ends before its swap space is taken away.
    Ok(vec![Box::new(group), Box::new(swap)])
}

/// Pair of network interfaces, removed when this value is dropped.
struct InterfacePair;

const ENDS: [&str; 2] = ["perfsetlive0", "perfsetlive1"];

impl InterfacePair {
    fn new() -> Result<Self> {
        ip(&["link", "add", ENDS[0], "type", "veth", "peer", "name", ENDS[1]]).context("needs root")?;
        let pair = Self;
        for end in ENDS {
            ip(&["link", "set", end, "up"])?;
        }
        Ok(pair)
    }
}

impl Drop for InterfacePair {
    fn drop(&mut self) {
        let _ = ip(&["link", "delete", ENDS[0]]); // it says why itself
    }
}

/// Sends frames of an unknown protocol through a pair of interfaces; the other end drops them.
fn losing(_: &Folder) -> Result<Load> {
    let pair = InterfacePair::new()?;
    let script = format!(
        "import socket, time\ns = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\ns.bind(('{}', 0))\n\
         while True:\n s.send(b'\\xff' * 6 + b'\\2\\0\\0\\0\\0\\2' + b'\\x88\\xb5' + b'x' * 50)\n time.sleep(0.005)\n",
        ENDS[1]
    );
    let sender = running(Command::new("python3").args(["-c", &script]))?;
    Ok(vec![sender, Box::new(pair)])
}

/// Mounts a file system and fills it.
fn full(place: &Folder) -> Result<Load> {
    let image = Image::mount(place)?;
    image.fill()?;
    Ok(vec![Box::new(image)])
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("the folder for temporary files has a strange name")
}
