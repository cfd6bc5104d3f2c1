//! Tests of `perfset manifest` and `perfset provider`, as users type them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use perfset::manifest::{Manifest, Rule};
use serde_json::Value;

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Creates a directory for one test, with the sample manifests in it.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("manifest-{name}"));
    let _ = fs::remove_dir_all(&folder); // the first run has none
    fs::create_dir_all(&folder).unwrap();
    for name in ["waves.man", "orders.man", "driver.man"] {
        fs::copy(repository("testdata/manifests").join(name), folder.join(name)).unwrap();
    }
    folder
}

/// Runs the command in a directory; returns exit code, standard output and standard error.
fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let tree = repository("testdata/linux/small-vm");
    let output = Command::new(env!("CARGO_BIN_EXE_perfset"))
        .args(args)
        .current_dir(folder)
        .env("PERFSET_PROC", tree.join("proc"))
        .env("PERFSET_SYS", tree.join("sys"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn changed(folder: &Path, name: &str, from: &str, to: &str) {
    let text = fs::read_to_string(folder.join("waves.man")).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(folder.join(name), text.replacen(from, to, 1)).unwrap();
}

#[test]
fn checking() {
    let folder = scratch("check");
    let good = "waves.man: Harbour, 2 countersets, 11 counters\n";
    assert_eq!(run(&folder, &["manifest", "check", "waves.man"]), (0, good.into(), String::new()));
    changed(&folder, "mistyped.man", "perf_average_timer", "perf_averge_timer");
    changed(&folder, "lonely.man", " baseID=\"17\"", "");
    changed(&folder, "twice.man", "id=\"17\"", "id=\"16\"");
    changed(&folder, "warned.man", "symbol=\"GATE_OPEN\"", "symbol=\"Gate\"");
    let (code, out, err) =
        run(&folder, &["manifest", "check", "mistyped.man", "warned.man", "lonely.man", "twice.man"]);
    assert_eq!((code, err.as_str()), (5, ""));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[2], "warned.man: Harbour, 2 countersets, 11 counters");
    assert!(
        lines[1].starts_with("warned.man:71:67: warning: symbol \"Gate\" stands above already; "),
        "{out}"
    );
    // The document shows what is printed.
    let document = fs::read_to_string(repository("docs/manifests.md")).unwrap();
    for line in [lines[0], lines[3], lines[5]] {
        assert!(document.contains(line), "{line}");
    }
    assert_eq!(run(&folder, &["manifest", "check", "warned.man"]).0, 0);
    let (code, out, err) = run(&folder, &["manifest", "check", "missing.man"]);
    assert_eq!((code, out.as_str()), (4, ""));
    assert!(err.starts_with("error: cannot read missing.man: "), "{err}");
    fs::write(folder.join("evil.man"), "<\u{1b}[2J").unwrap();
    let (code, out, _) = run(&folder, &["manifest", "check", "evil.man", "/dev/zero"]);
    assert!(code == 5 && !out.contains('\u{1b}'), "{out}");
    assert!(out.contains("/dev/zero:1:1: error: the file has more than 16777216 bytes"), "{out}");
}

#[test]
fn rules_are_documented() {
    let document = fs::read_to_string(repository("docs/manifests.md")).unwrap();
    let table = document.split_once("| rule |").unwrap().1.split_once("\n\n").unwrap().0;
    let rows = table.lines().filter_map(|row| row.strip_prefix("| `")?.split_once('`'));
    let documented: Vec<&str> = rows.map(|(keyword, _)| keyword).collect();
    assert_eq!(documented, Rule::ALL.map(Rule::keyword));
}

#[test]
fn generating() {
    let folder = scratch("generate");
    for (option, stored) in
        [("--rust", "waves.rs"), ("--c-header", "waves.h"), ("--symbols", "waves.symbols.h")]
    {
        let want = fs::read_to_string(repository("testdata/manifests").join(stored)).unwrap();
        let printed = run(&folder, &["manifest", "generate", "waves.man", option]);
        assert_eq!(printed, (0, want.clone(), String::new()));
        let written = run(&folder, &["manifest", "generate", "waves.man", option, "-o", "out"]);
        assert_eq!(written, (0, String::new(), String::new()));
        assert_eq!(fs::read_to_string(folder.join("out")).unwrap(), want);
    }
    let (code, _, err) = run(&folder, &["manifest", "generate", "driver.man", "--c-header"]);
    assert_eq!(
        (code, err.as_str()),
        (5, "error: cannot generate code for a provider that runs in kernel mode\n")
    );
    assert_eq!(run(&folder, &["manifest", "generate", "waves.man", "--rust", "--prefix", "1"]).0, 2);
    assert_eq!(run(&folder, &["manifest", "generate", "waves.man"]).0, 2);
    assert_eq!(run(&folder, &["manifest", "generate", "waves.man", "--rust", "--symbols"]).0, 2);
    changed(&folder, "bad.man", "id=\"2\"", "id=\"1\"");
    let (code, out, err) = run(&folder, &["manifest", "generate", "bad.man", "--rust"]);
    assert_eq!((code, out.as_str()), (5, ""));
    assert!(err.starts_with("bad.man:30:24: error: id 1 belongs to a counter above"), "{err}");
    assert!(err.ends_with("error: bad.man has errors, so nothing was generated\n"), "{err}");
}

#[test]
fn exporting() {
    let folder = scratch("export");
    let (code, out, err) = run(&folder, &["manifest", "export", "memory", "System"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let sets = Manifest::parse(out.as_bytes()).unwrap().countersets();
    assert_eq!(sets.iter().map(|set| set.name.as_ref()).collect::<Vec<_>>(), ["Memory", "System"]);
    assert_eq!(run(&folder, &["manifest", "export", "nothing of that name"]).0, 3);
    let (code, _, err) = run(&folder, &["manifest", "export", "memory", "perfset engine"]);
    assert_eq!(code, 2);
    let want =
        "error: \"Memory\" and \"Perfset Engine\" have different providers, but a manifest has only one\n";
    assert_eq!(err, want);
}

#[test]
fn registering() {
    let folder = scratch("provider");
    let provider = |args: &[&str]| run(&folder, &[&["provider"], args, &["--dir", "store"]].concat());
    let none = "no provider is registered; perfset provider install FILE registers one\n";
    assert_eq!(provider(&["list"]), (0, none.into(), String::new()));
    let file = "store/5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02.man";
    assert_eq!(provider(&["install", "waves.man"]), (0, format!("installed {file}\n"), String::new()));
    assert_eq!(
        provider(&["install", "waves.man"]),
        (0, format!("already installed: {file}\n"), String::new())
    );
    changed(&folder, "other.man", "Wave Height", "Height of Waves");
    let (code, _, err) = provider(&["install", "other.man"]);
    let owner = format!("the provider \"Harbour\" {{5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02}} of {file}");
    let want = "the provider {5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02} belongs to";
    let want = format!("error: other.man: {want} {owner}; remove that registration first\n");
    assert_eq!((code, err), (4, want));

    changed(&folder, "store/broken.man", "detailLevel", "level");
    let want = format!(
        "Harbour  {{5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02}}
  {file}
  Harbour Waves  {{5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a03}}
  Harbour Gate  {{5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a04}}
ignored  store/broken.man:27:11: error: counter has no detailLevel; it is required [attribute], and 1 more
"
    );
    assert_eq!(provider(&["list"]), (0, want, String::new()));
    let (_, json, _) = provider(&["list", "--json"]);
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["provider"], "Harbour");
    assert_eq!((&lines[0]["file"], &lines[0]["ignored"]), (&Value::from(file), &Value::Null));
    assert_eq!(lines[0]["countersets"][1]["name"], "Harbour Gate");
    assert_eq!(lines[0]["countersets"][1]["guid"], "5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a04");
    assert!(lines[1]["ignored"].as_str().unwrap().starts_with("store/broken.man:27:11: error: "));
    assert!(lines[1]["guid"].is_null() && lines.len() == 2);

    let of_set = provider(&["remove", "5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a03"]);
    assert_eq!(of_set, (0, format!("removed the counterset from {file}\n"), String::new()));
    assert_eq!(provider(&["remove", "waves.man"]), (0, format!("removed {file}\n"), String::new()));
    let (code, _, err) = provider(&["remove", "Harbour"]);
    assert_eq!(
        (code, err.as_str()),
        (3, "error: Harbour: no registered provider or counterset has this GUID or name\n")
    );
    let (code, _, err) = provider(&["install", "store/broken.man"]);
    assert_eq!(code, 5);
    assert!(err.starts_with("store/broken.man:27:11: error: "), "{err}");
}

/// Checks that without `--dir` the registrations in a user's own directory are read.
#[test]
fn the_folder_of_a_user() {
    let folder = scratch("user");
    let data = folder.join("data");
    let store = data.join("perfset/providers");
    fs::create_dir_all(&store).unwrap();
    let file = store.join("8a8ff0b5-7f0b-4a33-9a5e-2f5d1f5c6b01.man");
    fs::copy(folder.join("orders.man"), &file).unwrap();
    let list = |name: &str, value: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_perfset"));
        command.args(["provider", "list"]).env_remove("XDG_DATA_HOME").env_remove("HOME").env(name, value);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(list("XDG_DATA_HOME", &data).contains(file.to_str().unwrap()));
    assert!(!list("XDG_DATA_HOME", Path::new("data")).contains("Orders"), "no absolute path");
    fs::create_dir_all(folder.join(".local")).unwrap();
    fs::rename(&data, folder.join(".local/share")).unwrap();
    assert!(list("HOME", &folder).contains(".local/share/perfset/providers/8a8ff0b5"));
}
