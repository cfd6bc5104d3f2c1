//! Archive for Windows: the command with its version and its manifest as resources, and a quick start.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use uuid::Uuid;

use super::{Release, stage};
use crate::repository::{output_of, root, run};
use crate::standard_library::Use;
use crate::windows::mingw::Mingw;

/// Texts of the archive: the path of each in the repository, and its name in the archive, with an ending that Windows
/// opens.
const TEXTS: [(&str, &str); 5] = [
    ("packaging/windows/QUICKSTART.txt", "QUICKSTART.txt"),
    ("CHANGELOG.md", "CHANGELOG.txt"),
    ("LICENSE-APACHE", "LICENSE-APACHE.txt"),
    ("LICENSE-MIT", "LICENSE-MIT.txt"),
    (stage::FONT_LICENCE.0, "LICENSE-FONT.txt"),
];

/// Beginning of a line of the quick start that has an example.
const EXAMPLE: &str = "    .\\perfset ";

/// Returns the name of the archive without its ending, which is also that of the directory in it.
pub fn name(version: &str) -> String {
    format!("perfset-{version}-x86_64-windows")
}

/// Packs the archive `perfset-VERSION-x86_64-windows.zip`.
pub fn pack(release: &Release) -> Result<PathBuf> {
    let name = name(&release.version);
    let all = release.folder("zip")?;
    let top = all.join(&name);
    stage::copy(&build(release)?, &top.join("perfset.exe"), 0o755)?;
    for (from, to) in TEXTS {
        let text = fs::read_to_string(root().join(from)).with_context(|| format!("cannot read {from}"))?;
        stage::file(&top.join(to), with_line_ends_of_windows(&text).as_bytes(), 0o644)?;
    }
    let archive = release.out.join(format!("{name}.zip"));
    stage::zip(&all, &archive, release)?;
    Ok(archive)
}

/// Returns the examples of a quick start, as a user types them.
pub fn examples(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with(EXAMPLE)).map(str::trim).collect()
}

/// Builds the command for Windows with its resources, and returns its path.
///
/// Only the last step, linking, differs from other builds, so the crates are compiled once for all.
fn build(release: &Release) -> Result<PathBuf> {
    let compiler = Mingw::set_up(Use::Release)?;
    let resources = resources(release)?;
    let mut cargo = compiler.cargo("rustc");
    cargo.args(["--package=perfset-cli", "--bin=perfset", "--profile", &release.profile]);
    if let Some(commit) = &release.commit {
        cargo.env("PERFSET_COMMIT", commit);
    }
    cargo.args(["--", "-C", "strip=symbols"]);
    // The linker writes the time of the build otherwise.
    cargo.args(["-C", "link-arg=-Wl,--no-insert-timestamp"]);
    cargo.arg("-C").arg(format!("link-arg={}", resources.display()));
    run(&mut cargo)?;
    Ok(compiler.built(&release.profile).join("perfset.exe"))
}

/// Compiles the resources, and returns the path of the object file. It is relative to the repository, so that two
/// clones give the linker the same options, and so make the same program.
fn resources(release: &Release) -> Result<PathBuf> {
    let folder = root().join("packaging/windows");
    let read =
        |name: &str| fs::read_to_string(folder.join(name)).with_context(|| format!("cannot read {name}"));
    let script = resource_script(&read("perfset.rc")?, &release.version)?;
    // Cargo links again only if an option differs, so the name changes with the content.
    let content = script.clone() + &read("perfset.exe.manifest")?;
    let name = format!("resources-{}", Uuid::new_v5(&Uuid::nil(), content.as_bytes()));
    let (source, object) = (release.work.join("perfset.rc"), release.work.join(name).with_extension("o"));
    fs::write(&source, script)?;
    let mut compile = Command::new("x86_64-w64-mingw32-windres");
    compile.args(["--output-format=coff", "--include-dir"]).arg(folder).arg(source).arg(&object);
    output_of(&mut compile)?;
    Ok(object.strip_prefix(root()).unwrap_or(&object).to_owned())
}

/// Returns the resource script with a version of at most four numbers.
fn resource_script(template: &str, version: &str) -> Result<String> {
    let numbers: Option<Vec<u16>> = version.split('.').map(|number| number.parse().ok()).collect();
    let mut numbers = numbers
        .filter(|numbers| numbers.len() <= 4)
        .with_context(|| format!("{version} is more than Windows' four numbers up to 65,535"))?;
    numbers.resize(4, 0);
    let numbers = numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
    Ok(template.replace("@NUMBERS@", &numbers).replace("@VERSION@", version))
}

/// Returns a text with the line ends of Windows.
fn with_line_ends_of_windows(text: &str) -> String {
    text.lines().flat_map(|line| [line, "\r\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK_START: &str = include_str!("../../../packaging/windows/QUICKSTART.txt");

    #[test]
    fn resource_scripts_have_the_version() {
        for (version, want) in [
            ("0.1.0", "0,1,0,0 \"0.1.0\""),
            ("12", "12,0,0,0 \"12\""),
            ("1.2.3.65535", "1,2,3,65535 \"1.2.3.65535\""),
        ] {
            assert_eq!(resource_script("@NUMBERS@ \"@VERSION@\"", version).unwrap(), want);
        }
        for version in ["1.2.3.4.5", "1.65536.0", "1..2"] {
            assert!(resource_script("@NUMBERS@", version).is_err(), "{version}");
        }
        let script = resource_script(include_str!("../../../packaging/windows/perfset.rc"), "3.2.1").unwrap();
        assert_eq!(script.matches("3,2,1,0").count(), 2);
        assert_eq!(script.matches("\"3.2.1\"").count(), 2);
        assert!(!script.contains("@NUMBERS@") && !script.contains("@VERSION@"));
    }

    #[test]
    fn texts_have_line_ends_of_windows() {
        assert_eq!(with_line_ends_of_windows("a\n\nb\r\nc"), "a\r\n\r\nb\r\nc\r\n");
        assert_eq!(with_line_ends_of_windows(""), "");
    }

    /// Returns the first part of an example that cmd or PowerShell does not pass on as it is written.
    fn changed_by_a_shell(example: &str) -> Option<String> {
        let mut in_quotes = false;
        for (at, part) in example.split('"').enumerate() {
            in_quotes = at % 2 == 1;
            // In quotes, PowerShell replaces names after $ and characters after `. A backslash before the quote makes
            // the quote a part of the text.
            let is_changed = match in_quotes {
                true => part.contains(['$', '`']) || part.ends_with('\\'),
                false => !part.chars().all(|c| c.is_ascii_alphanumeric() || " .\\-".contains(c)),
            };
            // PowerShell 5 splits an option at a dot.
            let has_dotted_option =
                !in_quotes && part.split(' ').any(|word| word.starts_with('-') && word.contains('.'));
            if is_changed || has_dotted_option {
                return Some(part.to_owned());
            }
        }
        in_quotes.then(|| example.to_owned())
    }

    #[test]
    fn examples_mean_the_same_in_cmd_and_powershell() {
        for (example, want) in [
            (r#".\perfset get "\Process(*)\% Processor Time" --top 5 1"#, None),
            (r".\perfset get \Process(*)\Handles", Some(r".\perfset get \Process(*)\Handles")),
            (r#".\perfset get "\Memory\" 1"#, Some(r"\Memory\")),
            (r#".\perfset find "$name" "#, Some("$name")),
            (r".\perfset list 'proc*'", Some(r".\perfset list 'proc*'")),
            (r".\perfset get -f.csv", Some(r".\perfset get -f.csv")),
            (r#".\perfset find "disk"#, Some(r#".\perfset find "disk"#)),
        ] {
            assert_eq!(changed_by_a_shell(example).as_deref(), want, "{example}");
        }
        let examples = examples(QUICK_START);
        assert!(examples.len() > 10, "{examples:?}");
        for example in examples {
            assert_eq!(changed_by_a_shell(example), None, "{example}");
        }
        // The command `type` shows the same whatever the code page is.
        assert!(QUICK_START.is_ascii());
    }
}
