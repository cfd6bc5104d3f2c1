//! Settings file of the command: named sets of counter paths, and tables of the interactive screens.
//!
//! The user's own file comes first, then that of the machine. A set or a table is taken from the first file that has
//! it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use perfset::output::text::{escaped, name_of};
use perfset::path::{CounterPath, nearest};
use serde::Deserialize;
use toml::Spanned;

use crate::exit::{Exit, Failure};
use crate::input;

/// Content of a settings file of the command. Unknown names are errors, because they are mistyped.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "tui"), allow(dead_code, reason = "the file is checked all the same"))]
struct Settings {
    /// Named sets of counter paths; each key is the name of a set.
    #[serde(default)]
    paths: BTreeMap<String, Spanned<Vec<Spanned<String>>>>,
    /// Tables of the interactive screens; each key is the name of a table.
    #[serde(default)]
    tables: BTreeMap<String, TableSettings>,
    /// Settings of all interactive screens.
    #[serde(default)]
    top: TopSettings,
}

/// Settings of one table of the interactive screens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSettings {
    /// Name of the counterset that the table shows.
    pub counterset: String,
    /// Names of the counters in the table's columns, from left to right. If empty, the table has the columns of a new
    /// table.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Name of the counter by which the rows of the table are sorted.
    pub sort: Option<String>,
    /// Filter of the table's rows, as it is typed on the screen.
    pub filter: Option<String>,
}

/// Settings of all interactive screens: the counters on the strip of charts, and the use of the mouse.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(feature = "tui"), allow(dead_code, reason = "the file is checked all the same"))]
struct TopSettings {
    /// Counter paths on the strip of charts of the interactive screens.
    #[serde(default)]
    strip: Vec<Spanned<String>>,
    /// `true` if the interactive screens use the mouse; `None` if the file does not say it.
    mouse: Option<bool>,
}

/// Settings of the interactive screens, combined from all settings files.
#[cfg(feature = "tui")]
#[derive(Debug, Default, PartialEq)]
pub struct ScreenSettings {
    /// Counter paths on the strip of charts of the interactive screens; empty if no file has any.
    pub strip: Vec<CounterPath>,
    /// `true` if the interactive screens use the mouse.
    pub has_mouse: bool,
    /// Table of the interactive screens with the requested name; `None` if no settings file has it.
    pub table: Option<TableSettings>,
}

/// Returns the settings of the interactive screens, with the table named `table` if a settings file has it.
#[cfg(feature = "tui")]
pub fn screens(table: Option<&str>) -> Result<ScreenSettings, Failure> {
    screens_of(table, &files(|variable| std::env::var_os(variable)))
}

#[cfg(feature = "tui")]
fn screens_of(table: Option<&str>, files: &[PathBuf]) -> Result<ScreenSettings, Failure> {
    let (mut screens, mut mouse) = (ScreenSettings::default(), None);
    for file in files {
        let Some(text) = text_of(file)? else { continue };
        let mut settings = parse(file, &text)?;
        if screens.strip.is_empty() {
            let paths = settings.top.strip.iter().map(|path| counter_path(file, &text, path));
            screens.strip = paths.collect::<Result<_, _>>()?;
        }
        mouse = mouse.or(settings.top.mouse);
        screens.table = screens.table.or_else(|| settings.tables.remove(table?));
    }
    screens.has_mouse = mouse.unwrap_or(false);
    Ok(screens)
}

/// Returns the counter paths of a named set in the settings files.
pub fn named_paths(name: &str) -> Result<Vec<CounterPath>, Failure> {
    find(name, &files(|variable| std::env::var_os(variable)))
}

/// Returns the named sets of counter paths in the settings files, each with its paths in one line. Files with
/// mistakes are left out.
#[cfg(feature = "man")]
pub fn sets() -> BTreeMap<String, String> {
    sets_of(&files(|variable| std::env::var_os(variable)))
}

#[cfg(feature = "man")]
fn sets_of(files: &[PathBuf]) -> BTreeMap<String, String> {
    let mut sets = BTreeMap::new();
    for file in files {
        let settings = text_of(file).ok().flatten().and_then(|text| parse(file, &text).ok());
        for (name, paths) in settings.into_iter().flat_map(|settings| settings.paths) {
            let paths: Vec<_> = paths.get_ref().iter().map(|path| path.get_ref().as_str()).collect();
            sets.entry(name).or_insert_with(|| paths.join(" "));
        }
    }
    sets
}

/// Returns the settings files in the order in which they are searched.
fn files(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    // A relative path would depend on the current directory, which another user may have filled.
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let (own, system) = if cfg!(windows) {
        (folder("APPDATA"), folder("ProgramData"))
    } else {
        let home = || Some(folder("HOME")?.join(".config"));
        (folder("XDG_CONFIG_HOME").or_else(home), Some(PathBuf::from("/etc")))
    };
    [own, system].into_iter().flatten().map(|folder| folder.join("perfset").join("config.toml")).collect()
}

/// Finds a named set of counter paths in the first settings file that has it. Files that do not exist are skipped.
fn find(name: &str, files: &[PathBuf]) -> Result<Vec<CounterPath>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for file in files {
        let Some(text) = text_of(file)? else { continue };
        let mut settings = parse(file, &text)?;
        if let Some(paths) = settings.paths.remove(name) {
            if paths.get_ref().is_empty() {
                let line = line_at(text.as_bytes(), paths.span().start);
                return Err(wrong(file, line, &format!("the set \"{name}\" has no counter path")));
            }
            return paths.get_ref().iter().map(|path| counter_path(file, &text, path)).collect();
        }
        names.extend(settings.paths.into_keys());
    }
    let near = nearest(name, names.iter().map(String::as_str), 3);
    let hint = match near.as_slice() {
        [] => format!(
            "\n  such a set is a line below [paths] in {}: {} = ['/Memory/Available Bytes']",
            files.first().map_or_else(String::new, |file| name_of(file)),
            if name.is_empty() { "web".to_owned() } else { escaped(name) }
        ),
        near => format!("\n  nearest: {}", escaped(&near.join(", "))),
    };
    let error = anyhow!("no settings file has paths named \"{}\"{hint}", escaped(name));
    Err(Failure::new(Exit::Usage, error))
}

/// Returns the text of a settings file; `None` if it does not exist.
fn text_of(file: &Path) -> Result<Option<String>, Failure> {
    if std::fs::metadata(file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let bytes = input::read_small(file, "settings file")?;
    let line =
        |error: &std::string::FromUtf8Error| line_at(error.as_bytes(), error.utf8_error().valid_up_to());
    String::from_utf8(bytes).map(Some).map_err(|error| wrong(file, line(&error), "the line is not UTF-8"))
}

fn parse(file: &Path, text: &str) -> Result<Settings, Failure> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        wrong(file, line_at(text.as_bytes(), at), error.message())
    })
}

/// Parses one counter path of a set in a settings file.
fn counter_path(file: &Path, text: &str, path: &Spanned<String>) -> Result<CounterPath, Failure> {
    let at = path.span().start;
    path.get_ref().parse().map_err(|error: perfset::path::PathError| {
        wrong(file, line_at(text.as_bytes(), at), &error.to_string())
    })
}

/// Returns the number of the line of a settings file that contains the byte at offset `at`; the first line has the
/// number 1.
fn line_at(text: &[u8], at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.iter().filter(|byte| **byte == b'\n').count().saturating_add(1)
}

/// Returns the error for a mistake in a line of a settings file.
fn wrong(file: &Path, line: usize, what: &str) -> Failure {
    // A message of several lines would look like several errors.
    let what = what.lines().collect::<Vec<_>>().join("; ");
    Failure::new(Exit::Usage, anyhow!("{}:{line}: {}", name_of(file), escaped(&what)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a settings file for a test, and returns its path.
    fn written(name: &str, text: &[u8]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("perfset-settings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        file
    }

    fn found(name: &str, files: &[PathBuf]) -> Result<Vec<String>, String> {
        let paths = find(name, files).map_err(|failure| failure.error.to_string())?;
        Ok(paths.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn first_file_with_the_set_wins() {
        let own = written("own.toml", b"# mine\n[paths]\nweb = ['/A/B', '\\C(*)\\D']\n");
        let system = written("system.toml", b"paths.web = ['/X/Y']\npaths.db = [\n  '/E/F',\n]\n");
        let none = own.with_file_name("none.toml");
        let files = [none.clone(), own, system];
        assert_eq!(found("web", &files), Ok(vec![r"\A\B".to_owned(), r"\C(*)\D".to_owned()]));
        assert_eq!(found("db", &files), Ok(vec![r"\E\F".to_owned()]));
        let error = found("webs", &files).unwrap_err();
        assert!(error.contains("has paths named \"webs\"\n  nearest: web"), "{error}");
        let error = found("x\u{1b}", std::slice::from_ref(&none)).unwrap_err();
        assert!(error.contains("named \"x\\u{1b}\"") && error.contains(none.to_str().unwrap()), "{error}");
    }

    #[cfg(feature = "man")]
    #[test]
    fn sets_are_those_of_all_files() {
        let own = written("own-sets.toml", b"[paths]\nweb = ['/A/B', '/C/D']\n");
        let wrong = written("wrong-sets.toml", b"[paths]\nbad = 5\n");
        let system = written("system-sets.toml", b"[paths]\nweb = ['/X/Y']\ndb = ['/E/F']\n");
        let none = own.with_file_name("no-sets.toml");
        let sets: Vec<_> = sets_of(&[none, own, wrong, system]).into_iter().collect();
        let set = |name: &str, paths: &str| (name.to_owned(), paths.to_owned());
        assert_eq!(sets, [set("db", "/E/F"), set("web", "/A/B /C/D")]);
    }

    #[test]
    fn mistakes_have_file_and_line() {
        for (number, (text, line, what)) in [
            (&b"[paths]\nweb = ['/A/B'\n"[..], 2, ""),
            (b"[paths]\n\nweb = ['/A/B', 'A']\n", 3, "\"A\" does not begin with \\ or /"),
            (b"[paths]\nweb = [\n  '/A/B',\n  '/A',\n]\n", 4, "\"/A\" names a counterset but no counter"),
            (b"\n[pahts]\nweb = []\n", 2, "unknown field `pahts`, expected one of `paths`, `tables`, `top`"),
            (b"[paths]\n\nweb = []\n", 3, "the set \"web\" has no counter path"),
            (b"[paths]\nweb = 5\n", 2, "invalid type: integer `5`, expected a sequence"),
            (b"[paths]\n# \xFF\n", 2, "the line is not UTF-8"),
        ]
        .into_iter()
        .enumerate()
        {
            let file = written(&format!("wrong-{number}.toml"), text);
            let error = found("web", std::slice::from_ref(&file)).unwrap_err();
            let want = format!("{}:{line}: {what}", file.display());
            assert!(error.starts_with(&want), "{error}\n{want}");
        }
    }

    #[cfg(feature = "tui")]
    #[test]
    fn tables_of_screens() {
        let own = written(
            "own-tables.toml",
            b"[tables.web]\ncounterset = 'Process V2'\ncolumns = ['Working Set']\nfilter = 'web'\n\
              [top]\nmouse = true\n",
        );
        let system =
            written("system-tables.toml", b"[tables.db]\ncounterset = 'A'\n[top]\nstrip = ['/A/B']\n");
        let files = [own, system];
        let screens =
            |name| screens_of(Some(name), &files).map_err(|failure| failure.error.to_string()).unwrap();
        let ScreenSettings { strip, has_mouse, table } = screens("web");
        assert_eq!((strip, has_mouse), (vec!["/A/B".parse().unwrap()], true));
        let want = TableSettings {
            counterset: "Process V2".into(),
            columns: vec!["Working Set".into()],
            sort: None,
            filter: Some("web".into()),
        };
        assert_eq!(table, Some(want));
        assert_eq!(screens("db").table.map(|table| table.counterset).as_deref(), Some("A"));
        assert_eq!(screens("none").table, None);
        let wrong = written("wrong-tables.toml", b"[tables.web]\ncolumns = []\n");
        let error = screens_of(None, &[wrong]).unwrap_err().error.to_string();
        assert!(error.contains("wrong-tables.toml:1: missing field `counterset`"), "{error}");
        let wrong = written("wrong-strip.toml", b"[top]\nstrip = ['/A/B', 'C']\n");
        let error = screens_of(None, &[wrong]).unwrap_err().error.to_string();
        assert!(error.contains("wrong-strip.toml:2: \"C\" does not begin with \\ or /"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn files_are_those_of_user_and_system() {
        let of = |variables: &[(&str, &str)]| {
            let value = |name: &str| Some(variables.iter().find(|(known, _)| *known == name)?.1.into());
            files(value).iter().map(|file| file.display().to_string()).collect::<Vec<_>>()
        };
        let system = "/etc/perfset/config.toml";
        assert_eq!(of(&[]), [system]);
        assert_eq!(of(&[("HOME", "/h/a")]), ["/h/a/.config/perfset/config.toml", system]);
        let both = [("HOME", "/h/a"), ("XDG_CONFIG_HOME", "/x")];
        assert_eq!(of(&both), ["/x/perfset/config.toml", system]);
        let relative = [("HOME", "/h/a"), ("XDG_CONFIG_HOME", "x")];
        assert_eq!(of(&relative), ["/h/a/.config/perfset/config.toml", system]);
    }
}
