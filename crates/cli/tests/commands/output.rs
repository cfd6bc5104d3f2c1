//! Tests of the promises in `docs/output.md`, and of the commands in documents and help texts.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use crate::publishing::Published;
use crate::running::{outcome, perfset, repository, run, scratch};

fn contract() -> String {
    fs::read_to_string(repository("docs/output.md")).unwrap()
}

/// Returns the output of a successful `perfset get` on a fixture.
fn get(fixture: &str, args: &[&str]) -> String {
    let (code, out, err) = run(fixture, &[&["get"], args].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{args:?}");
    out
}

/// Counter paths for a value, a counter that the machine lacks, one with a base, a missing instance, and a constant.
const SEVERAL: [&str; 6] = [
    "/Memory/Available Bytes",
    "/Memory/Write Copies/sec",
    "/Memory/% Committed Bytes In Use",
    "/Processor Information(9,?)/% User Time",
    "/Processor Information(?,_Total)/{% Processor Time,% User Time}",
    "/System/Context Switches/sec",
];

/// Returns a text in which every digit of a time is replaced by `#`.
fn without_times(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for template in ["0000-00-00T00:00:00.000Z", "00:00:00.000"].map(str::as_bytes) {
        let fits = |(want, is): (&u8, &u8)| if *want == b'0' { is.is_ascii_digit() } else { want == is };
        for at in 0..bytes.len().saturating_sub(template.len()) {
            let place = &mut bytes[at..at + template.len()];
            if template.iter().zip(place.iter()).all(fits) {
                place.iter_mut().filter(|byte| byte.is_ascii_digit()).for_each(|byte| *byte = b'#');
            }
        }
    }
    String::from_utf8(bytes).unwrap()
}

/// Compares a text with the snapshot file of that name; with `UPDATE_SNAPSHOTS=1`, writes the file.
fn snapshot(name: &str, text: &str) {
    let file = repository("crates/cli/tests/snapshots").join(name);
    let text = without_times(text);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&file, &text).unwrap();
    }
    let want = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(text, want, "{} differs; UPDATE_SNAPSHOTS=1 writes it anew", file.display());
}

#[test]
fn tables_csv_and_json() {
    for (format, ending) in [("table", "txt"), ("csv", "csv"), ("json", "jsonl")] {
        let args = |more: &[&'static str]| [&SEVERAL[..], &["--format", format], more].concat();
        let two_samples = get("two-nodes", &args(&["--warmup", "10ms"]));
        snapshot(&format!("several.{ending}"), &two_samples);
        snapshot(&format!("several-raw.{ending}"), &get("two-nodes", &args(&["--raw"])));
    }
    let columns = ["/Memory/Available Bytes", "/System/Processes", "10ms", "2"];
    snapshot("columns.txt", &get("two-nodes", &columns));
    let by_pattern = ["/Processor Information(_Total)/% C?*", "--all", "--warmup", "10ms"];
    snapshot("reasons.txt", &get("old-kernel", &by_pattern));
}

/// Returns the first cells of the documentation's table that follows this heading, without backquotes.
fn first_cells(heading: &str) -> Vec<String> {
    let document = contract();
    let section = document.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no {heading}")).1;
    let table = section.lines().skip_while(|line| !line.starts_with('|')).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    rows.map(|row| row.split('|').nth(1).unwrap().trim().trim_matches('`').to_owned()).collect()
}

#[test]
fn json_and_csv_have_the_documented_fields() {
    let fields = first_cells("## JSON");
    let csv = get("two-nodes", &[&SEVERAL[..], &["--warmup", "10ms", "--format", "csv"]].concat());
    assert_eq!(csv.lines().next().unwrap(), fields.join(","));
    assert!(csv.ends_with('\n') && !csv.contains('\r'));
    let json = get("two-nodes", &[&SEVERAL[..], &["--warmup", "10ms", "--format", "json"]].concat());
    assert_eq!(json.lines().count(), csv.lines().count() - 1);
    let reasons = first_cells("### Reasons");
    let mut seen = BTreeSet::new();
    for line in json.lines() {
        let object: Map<String, Value> = serde_json::from_str(line).unwrap();
        let keys: BTreeSet<_> = object.keys().cloned().collect();
        assert_eq!(keys, fields.iter().cloned().collect(), "{line}");
        for (name, value) in &object {
            let right = match name.as_str() {
                "instance_id" | "raw" | "base" | "missing" => value.is_u64() || value.is_null(),
                "value" => value.is_f64() || value.is_null(),
                "mark" => value.is_string() || value.is_null(),
                _ => value.is_string(),
            };
            assert!(right, "{name}: {line}");
        }
        let status = object["status"].as_str().unwrap();
        assert_eq!(object["value"].is_null(), status != "ok", "{line}");
        assert!(status == "ok" || reasons.iter().any(|reason| reason == status), "{line}");
        seen.insert(status.to_owned());
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["no_instance", "ok", "unavailable"]);
}

#[test]
fn wide_output_has_the_documented_fields() {
    let fields = first_cells("### Fields of wide output");
    let wide = |format| {
        get("two-nodes", &[&SEVERAL[..], &["--warmup", "10ms", "--wide", "--format", format]].concat())
    };
    let json = wide("json");
    // Memory, System, and two nodes of processors with one that does not exist.
    assert_eq!(json.lines().count(), 5, "{json}");
    for line in json.lines() {
        // The order of the fields is not promised, but the document has it.
        let mut rest = line;
        for field in &fields {
            rest = rest.split_once(&format!("\"{field}\":")).unwrap_or_else(|| panic!("{field}: {line}")).1;
        }
        let object: Map<String, Value> = serde_json::from_str(line).unwrap();
        assert_eq!(object.len(), fields.len(), "{line}");
        let (values, status) = (object["values"].as_object().unwrap(), object["status"].as_object().unwrap());
        assert!(values.iter().all(|(name, value)| value.is_null() == status.contains_key(name)), "{line}");
    }
    let csv = wide("csv");
    let head: Vec<_> = csv.lines().next().unwrap().split(',').collect();
    let outside: Vec<_> = fields.iter().filter(|field| *field != "values").collect();
    assert!(outside.iter().all(|field| head.contains(&field.as_str())), "{head:?}");
    assert_eq!(head.len(), outside.len() + 6, "a column for each of six counters: {head:?}");
}

#[test]
fn settings_of_the_document_work() {
    let document = contract();
    let example = document.split_once("```toml\n").unwrap().1.split_once("```").unwrap().0;
    let folder = scratch("documented-settings");
    fs::create_dir_all(folder.join("perfset")).unwrap();
    fs::write(folder.join("perfset/config.toml"), example).unwrap();
    let mut command = perfset("two-nodes", &["get", "@web", "--raw", "--format", "csv"]);
    let (code, out, err) = outcome(command.env("XDG_CONFIG_HOME", &folder).output().unwrap());
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("Connections Established") && out.contains("Working Set"), "{out}");
}

/// Checks that every reason for a missing value is documented; the reasons are read from the source file that has
/// them.
#[test]
fn every_reason_is_documented() {
    let source = fs::read_to_string(repository("crates/core/src/value.rs")).unwrap();
    let body = source.split_once("fn keyword").unwrap().1.split_once("\n    }").unwrap().0;
    let keywords: Vec<_> = body.lines().filter_map(|line| line.split('"').nth(1)).collect();
    assert!(keywords.len() > 10, "{keywords:?}");
    assert_eq!(first_cells("### Reasons"), keywords);
}

#[test]
fn every_unit_is_documented() {
    let mut units = BTreeSet::new();
    for entry in fs::read_dir(repository("catalog")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let of =
            |line: &str| line.strip_prefix("unit = \"").map(|unit| unit.trim_end_matches('"').to_owned());
        units.extend(text.lines().filter_map(of));
    }
    assert_eq!(first_cells("### Units").into_iter().collect::<BTreeSet<_>>(), units);
}

#[test]
fn exit_codes_are_documented() {
    let (_, help, _) = run("small-vm", &["--help"]);
    let codes = help.split_once("Exit codes:\n").unwrap().1;
    let document = contract();
    for line in codes.lines().filter(|line| !line.is_empty()) {
        let (code, meaning) = line.trim().split_once("  ").unwrap();
        assert!(document.contains(&format!("| {code} | {meaning} |")), "{line}");
    }
    assert_eq!(first_cells("## Streams, signals, exit codes").len(), codes.lines().count());
}

#[test]
fn every_command_has_a_manual_page_with_examples_and_exit_codes() {
    let folder = scratch("man");
    let (code, out, err) = run("small-vm", &["man", folder.to_str().unwrap()]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.starts_with("perfset.1\nperfset-cpu.1\n") && out.contains("perfset-dump.1\n"), "{out}");
    for name in out.lines() {
        let page = fs::read_to_string(folder.join(name)).unwrap();
        let title = name.trim_end_matches(".1");
        for part in [&format!(".TH {title} 1 "), ".SH DESCRIPTION", ".SH EXAMPLES", ".SH \"EXIT CODES\""] {
            assert_eq!(page.matches(part).count(), 1, "{name}: {part}");
        }
    }
    let (code, out, err) = run("small-vm", &["man", "/no/such/folder"]);
    assert_eq!((code, out.as_str()), (4, ""));
    assert!(err.starts_with("error: cannot write /no/such/folder/perfset.1: "), "{err}");
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (code, out, err) = run("small-vm", &["completions", shell]);
        assert_eq!((code, err.as_str()), (0, ""), "{shell}");
        // Others than these are generated.
        let is_own = ["bash", "fish", "zsh"].contains(&shell);
        assert_eq!(out.contains(&format!("complete {shell} --")), is_own, "{shell}: {out}");
        assert_eq!(out.contains("full-names"), !is_own, "{shell}: {out}");
    }
    assert_eq!(run("small-vm", &["completions", "tcsh"]).0, 2);
}

/// Checks the parts of the documented PowerShell script that depend on no other command; no test runs the script.
#[test]
fn script_for_powershell() {
    let (_, script, _) = run("small-vm", &["completions", "powershell"]);
    let (head, rest) = script.split_once("        'perfset' {").unwrap();
    let block = rest.split("        'perfset;completions' {\n").nth(1).unwrap();
    let (block, _) = block.split_once("            break\n").unwrap();
    let (_, tail) = rest.rsplit_once("            break\n").unwrap();
    let parts = format!("{head}        'perfset;completions' {{\n{block}            break\n{tail}");
    let golden = repository("crates/cli/tests/snapshots/completions.ps1");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&golden, &parts).unwrap();
    }
    assert_eq!(parts, fs::read_to_string(golden).unwrap());
}

/// Returns the help texts of all commands, with the names of the commands.
fn helps() -> Vec<(String, String)> {
    let (_, root, _) = run("small-vm", &["--help"]);
    let commands = root.split_once("Commands:\n").unwrap().1.split_once("\n\n").unwrap().0;
    let names = commands.lines().filter_map(|line| line.split_whitespace().next());
    let names: Vec<_> = names.filter(|name| *name != "help").collect();
    assert!(names.contains(&"get") && names.contains(&"man"), "{names:?}");
    let help = |words: &[&str]| {
        (format!("perfset {} --help", words.join(" ")), run("small-vm", &[words, &["--help"]].concat()).1)
    };
    let v1 = ["query", "names", "values"].map(|name| help(&["v1", name]));
    let manifest = ["check", "generate", "export"].map(|name| help(&["manifest", name]));
    let provider = ["install", "remove", "list"].map(|name| help(&["provider", name]));
    let all = names.into_iter().map(|name| help(&[name]));
    all.chain(v1)
        .chain(manifest)
        .chain(provider)
        .chain([("perfset --help".to_owned(), root.clone())])
        .collect()
}

#[test]
fn examples_are_narrow() {
    for (name, help) in helps() {
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{name}: no examples"));
        for line in examples.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
    }
}

/// Command in a text of the documentation, split as a shell does, and `true` if an error is shown below it.
struct Shown {
    words: Vec<String>,
    fails: bool,
}

/// Returns the commands after `$` in a text of the documentation, up to a pipe or a redirection.
fn commands(text: &str) -> Vec<Shown> {
    let text = text.replace("\\\n", " ");
    let mut found = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.trim_start().strip_prefix("$ perfset") else { continue };
        let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
        for c in command.chars() {
            match c {
                '\'' => {
                    quoted = !quoted;
                    word.get_or_insert_default();
                }
                ' ' if !quoted => words.extend(word.take()),
                '|' | '>' if !quoted => break,
                c => word.get_or_insert_default().push(c),
            }
        }
        words.extend(word);
        let fails = lines.peek().is_some_and(|next| next.trim_start().starts_with("error: "));
        found.push(Shown { words, fails });
    }
    found
}

/// Returns a documented command without the parts that take time, or that this machine lacks.
fn quick(mut words: Vec<String>, folder: &Path) -> Option<Vec<String>> {
    let is_number = |word: &str| word.trim_end_matches("ms").trim_end_matches('s').parse::<f64>().is_ok();
    for word in words.iter_mut().filter(|word| word.ends_with(".blg")) {
        *word = repository("testdata/logs/BasicPerfCounters.blg").to_str().unwrap().to_owned();
    }
    // The directory of a recording.
    for word in words.iter_mut().filter(|word| *word == "rec") {
        *word = folder.join("rec").to_str().unwrap().to_owned();
    }
    let is_screen =
        |word: &&str| word.starts_with('-') || ["cpu", "mem", "disk", "net", "proc", "cgroup"].contains(word);
    match words.first().map(String::as_str) {
        // The instants of the texts are those of a recording that does not exist.
        Some(word) if is_screen(&word) && words.iter().any(|word| word == "--log") => {
            for at in 1..words.len() {
                match words[at - 1].as_str() {
                    "--log" => {
                        let log = repository("testdata/logs/BasicPerfCounters.blg");
                        words[at] = log.to_str().unwrap().to_owned();
                    }
                    "--at" => words[at] = "-0s".to_owned(),
                    _ => {}
                }
            }
        }
        Some("cpu" | "mem" | "disk" | "net" | "proc" | "cgroup") => {
            words.retain(|word| !is_number(word) && word != ">" && word != "now.txt");
            words.extend(["10ms".to_owned(), "1".to_owned()]);
        }
        // On a terminal they would be drawn until a key ends them.
        Some("top") => {
            words.retain(|word| !is_number(word) && word != "--plain");
            words.splice(1..1, ["--plain".to_owned(), "10ms".to_owned(), "1".to_owned()]);
        }
        Some("view") => {
            let log = repository("testdata/logs/BasicPerfCounters.blg").to_str().unwrap().to_owned();
            while let Some(at) =
                words.iter().position(|word| ["--at", "--begin", "--end"].contains(&word.as_str()))
            {
                words.drain(at..at + 2);
            }
            for word in &mut words {
                match word.as_str() {
                    range if range.contains("..") => "..-0s".clone_into(word),
                    file if file.ends_with(".perfset") => word.clone_from(&log),
                    _ => {}
                }
            }
            words[1] = log;
            words.push("--plain".to_owned());
        }
        Some("get") if words.iter().any(|word| word == "--log") => {}
        Some("get") => {
            let options = ["--top", "--warmup"];
            let mut before = String::new();
            words.retain(|word| {
                let is_value = options.contains(&std::mem::replace(&mut before, word.clone()).as_str());
                is_value || !is_number(word)
            });
            words.retain(|word| word != "--raw");
            if let Some(at) = words.iter().position(|word| word == "-o") {
                words[at + 1] = folder.join("metrics.prom").to_str().unwrap().to_owned();
            }
            // These formats have no raw values, or nothing else.
            if !words.iter().any(|word| word == "influx" || word == "prometheus") {
                words.push("--raw".into());
            }
        }
        // It would watch until it is stopped, and its exit code depends on the values.
        Some("watch") => {
            let is_log = words.iter().any(|word| word == "--log");
            words.truncate(words.iter().position(|word| word == "--run").unwrap_or(words.len()));
            let options = ["--above", "--below", "--for"];
            let mut before = String::new();
            words.retain(|word| {
                let is_value = options.contains(&std::mem::replace(&mut before, word.clone()).as_str());
                is_value || !is_number(word) && word != "--exit-code"
            });
            if !is_log {
                words.splice(2..2, ["10ms".to_owned(), "10".to_owned()]);
            }
        }
        Some("record") => {
            if !words.iter().any(|word| word == "--status") {
                words.retain(|word| !is_number(word));
                words.extend(["10ms".to_owned(), "3".to_owned()]);
            }
            // The usual directory is the machine's own, which other tests would show.
            if !words.iter().any(|word| word == "--dir" || word == "-o") {
                words.extend(["--dir".to_owned(), folder.join("usual").to_str().unwrap().to_owned()]);
            }
            for word in words.iter_mut().filter(|word| word.ends_with(".perfset")) {
                let file = folder.join(&*word);
                let _ = fs::remove_file(&file); // from an earlier run
                *word = file.to_str().unwrap().to_owned();
            }
        }
        Some("plot") => {
            let is_log = words.iter().any(|word| word == "--log");
            words.retain(|word| !is_number(word) || word == "5");
            for word in words.iter_mut().filter(|word| word.ends_with(".svg") || word.ends_with(".png")) {
                *word = folder.join(&*word).to_str().unwrap().to_owned();
            }
            if !is_log {
                let paths = words.iter().position(|word| word.starts_with('-')).unwrap();
                words.splice(paths..paths, ["10ms".to_owned(), "2".to_owned()]);
            }
            words.push("--force".into());
        }
        Some("report") => {
            let log = repository("testdata/logs/BasicPerfCounters.blg").to_str().unwrap().to_owned();
            // The time and the counters are those of another log.
            while let Some(at) =
                words.iter().position(|word| ["--begin", "--end", "--counter"].contains(&word.as_str()))
            {
                words.drain(at..at + 2);
            }
            let at = words.iter().position(|word| word == "--log").unwrap() + 1;
            words[at] = log;
            for word in words.iter_mut().filter(|word| word.ends_with(".html")) {
                *word = folder.join(&*word).to_str().unwrap().to_owned();
            }
            words.push("--force".into());
        }
        Some("dump") if words.last().unwrap() == "-" => return None,
        Some("dump") => {
            *words.last_mut()? = repository("testdata/v2/small-vm.bin").to_str().unwrap().to_owned();
        }
        Some("v1") => {
            let writes = words[1] == "query";
            for word in words.iter_mut().filter(|word| word.ends_with(".bin")) {
                *word = match (writes, word.as_str()) {
                    (true, _) => folder.join(&*word).to_str().unwrap().to_owned(),
                    (false, "names.bin") => {
                        repository("testdata/v1/samba417_counter009.bin").to_str().unwrap().to_owned()
                    }
                    (false, _) => repository("testdata/v1/single.bin").to_str().unwrap().to_owned(),
                };
            }
        }
        Some("log") if words[1] != "info" => {
            let at = words.iter().position(|word| word == "-o").unwrap() + 1;
            words[at] = folder.join(&words[at]).to_str().unwrap().to_owned();
            words.push("--force".into());
            // The time and the machine are those of the test.
            while let Some(at) =
                words.iter().position(|word| ["--begin", "--end", "--machine"].contains(&word.as_str()))
            {
                words.drain(at..at + 2);
            }
        }
        Some("relog") => {
            for word in words.iter_mut().filter(|word| word.ends_with(".csv") || word.ends_with(".db")) {
                *word = folder.join(&*word).to_str().unwrap().to_owned();
            }
            words.push("--force".into());
        }
        Some("manifest" | "provider") => {
            let mut before = String::new();
            for word in &mut words {
                let path = match (before.as_str(), word.rsplit_once('.')) {
                    ("-o" | "--dir", _) => Some(folder.join(word.replace('/', "-"))),
                    (_, Some((_, "man"))) => Some(repository("testdata/manifests").join(&*word)),
                    _ => None,
                };
                before = std::mem::replace(
                    word,
                    path.map_or(word.clone(), |path| path.to_str().unwrap().to_owned()),
                );
            }
            if words[0] == "provider" && !words.contains(&"--dir".to_owned()) {
                words.extend(["--dir".to_owned(), folder.join("providers").to_str().unwrap().to_owned()]);
            }
        }
        Some("doctor") if words.iter().any(|word| word == "--capture") => {
            let at = words.iter().position(|word| word == "--capture").unwrap() + 1;
            words[at] = folder.join(&words[at]).to_str().unwrap().to_owned();
            words.extend(["--warmup".to_owned(), "10ms".to_owned()]);
        }
        // It would serve until it is stopped: only what it is told is looked at.
        Some("serve") => words.push("--help".into()),
        Some("man") => *words.last_mut()? = folder.to_str().unwrap().to_owned(),
        Some(word) if !is_number(word) && !word.starts_with('-') => {}
        _ => {
            words.retain(|word| word.starts_with('-'));
            words.extend(["10ms".into(), "1".into()]);
        }
    }
    Some(words)
}

#[test]
fn commands_in_helps_and_documents_work() {
    let folder = scratch("man-of-documents");
    let published = Published::new("documents");
    // The settings file is that of the guide.
    let settings = scratch("settings-of-documents");
    let guide = fs::read_to_string(repository("docs/guides/top.md")).unwrap();
    let shown = guide.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    fs::create_dir(settings.join("perfset")).unwrap();
    fs::write(settings.join("perfset/config.toml"), shown).unwrap();
    let mut texts = helps();
    let guides = fs::read_dir(repository("docs/guides")).unwrap().map(|entry| entry.unwrap().path());
    for path in guides
        .chain(["docs/commands.md", "docs/output.md", "docs/v1.md", "docs/manifests.md"].map(repository))
    {
        texts.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
    }
    // The jobs of the front page are a table, with the command in the last cell.
    let front = fs::read_to_string(repository("README.md")).unwrap();
    let jobs: Vec<_> =
        front.lines().filter_map(|line| line.strip_suffix("` |")?.split_once("| `perfset")).collect();
    assert_eq!(jobs.len(), 5);
    texts.push(("README.md".into(), jobs.iter().map(|(_, words)| format!("$ perfset{words}\n")).collect()));
    let mut count = 0;
    for (name, text) in &texts {
        for Shown { words, fails } in commands(text) {
            let shown = words.join(" ");
            let Some(words) = quick(words, &folder) else { continue };
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let mut command = perfset("small-vm", &words);
            command.env("PERFSET_RUNTIME_DIR", published.folder()).env("XDG_CONFIG_HOME", &settings);
            let (code, _, err) = outcome(command.output().unwrap());
            assert_eq!(code != 0, fails, "{name}: perfset {shown}: {err}");
            count += 1;
        }
    }
    assert!(count > 20, "{count}");
}
