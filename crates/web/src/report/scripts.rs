//! Scripts of a report: the modules of the server's page as one script, because a browser loads no module from a file.

/// Modules of the page and of the report, each after those that it imports.
const MODULES: &[(&str, &str)] = &[
    ("dom", include_str!("../../assets/dom.js")),
    ("zone", include_str!("../../assets/zone.js")),
    ("units", include_str!("../../assets/units.js")),
    ("names", include_str!("../../assets/names.js")),
    ("palette", include_str!("../../assets/palette.js")),
    ("rove", include_str!("../../assets/rove.js")),
    ("cursor", include_str!("../../assets/cursor.js")),
    ("heat", include_str!("../../assets/heat.js")),
    ("legend", include_str!("../../assets/legend.js")),
    ("plot", include_str!("../../assets/plot.js")),
    ("panels", include_str!("../../assets/panels.js")),
    ("report", include_str!("../../report/report.js")),
];

/// Library that draws lines, with its licence in its first line.
const UPLOT: &str = include_str!("../../assets/uplot.js");
const UPLOT_LICENSE: &str = include_str!("../../assets/uplot-license.txt");

const STYLES: [&str; 3] = [
    include_str!("../../assets/uplot.css"),
    include_str!("../../assets/style.css"),
    include_str!("../../report/report.css"),
];

/// Statement before the others, by which charts are drawn at least twice as finely as a plain screen shows them: they
/// are printed as they are.
const FINER: &str =
    "if (devicePixelRatio < 2) Object.defineProperty(window, \"devicePixelRatio\", { get: () => 2 });\n";

/// Returns the style sheets as one.
pub fn styles() -> String {
    STYLES.join("\n")
}

/// Returns all scripts as one.
pub fn script() -> String {
    let mut text = format!("\"use strict\";\n{FINER}/*\n{}\n*/\n{UPLOT}\n", UPLOT_LICENSE.trim());
    MODULES.iter().for_each(|(name, source)| text.push_str(&wrapped(name, source)));
    text
}

/// Returns a module as a function that is called at once and returns what the module exports. Imports and exports stand
/// at the beginning of a line.
fn wrapped(name: &str, source: &str) -> String {
    let (mut body, mut exports) = (String::new(), Vec::new());
    for line in source.lines() {
        let (line, is_export) = match line.strip_prefix("export ") {
            Some(rest) => (rest, true),
            None => (line, false),
        };
        if is_export {
            let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$');
            let is_keyword = |word: &&str| ["const", "let", "class", "function", "async", ""].contains(word);
            exports.extend(words.skip_while(is_keyword).take(1));
        }
        match import(line) {
            Some(import) => body.push_str(&import),
            None => body.push_str(line),
        }
        body.push('\n');
    }
    format!("const module_{name} = (() => {{\n{body}return {{ {} }};\n}})();\n", exports.join(", "))
}

/// Returns the statement that replaces an import.
fn import(line: &str) -> Option<String> {
    let (names, from) = line.strip_prefix("import ")?.split_once(" from \"./")?;
    let module = from.strip_suffix(".js\";")?;
    Some(format!("const {} = module_{module};", names.replace(" as ", ": ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_become_functions() {
        let source = "import { a, b as c } from \"./dom.js\";\n\nexport const d = 1;\n\
                      export async function e() {}\nexport class F {}\nexport let g = d;\nconst h = 2;\n";
        let want = "const module_x = (() => {\nconst { a, b: c } = module_dom;\n\nconst d = 1;\n\
                    async function e() {}\nclass F {}\nlet g = d;\nconst h = 2;\nreturn { d, e, F, g };\n})();\n";
        assert_eq!(wrapped("x", source), want);
    }

    /// The script has no import or export, each module comes after those that it imports, and nothing ends the element
    /// that it is in.
    #[test]
    fn the_script_needs_no_module() {
        for (at, (name, source)) in MODULES.iter().enumerate() {
            let text = wrapped(name, source);
            for line in text.lines() {
                assert!(!line.starts_with("import") && !line.starts_with("export"), "{name}: {line}");
            }
            for line in source.lines().filter(|line| line.starts_with("import ")) {
                let known =
                    MODULES[..at].iter().any(|(known, _)| line.contains(&format!("\"./{known}.js\"")));
                assert!(known, "{name}: {line}");
            }
        }
        let script = script().to_ascii_lowercase();
        assert!(!script.contains("</script") && !script.contains("<!--"));
        assert!(!styles().to_ascii_lowercase().contains("</style"));
    }
}
