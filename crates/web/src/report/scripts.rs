//! Scripts of a report: the modules of the server's page as one script, because a browser loads no module from a file.

use crate::assets;
use crate::joined::joined;

/// JavaScript module of the report, which imports modules of the page.
const REPORT: &str = include_str!("../../report/report.js");

/// JavaScript library that draws lines, with its licence in its first line.
const UPLOT: &str = include_str!("../../assets/uplot.js");
const UPLOT_LICENSE: &str = include_str!("../../assets/uplot-license.txt");

const STYLES: [&str; 3] = [
    include_str!("../../assets/uplot.css"),
    include_str!("../../assets/style.css"),
    include_str!("../../report/report.css"),
];

/// JavaScript statement before the other scripts, by which charts are drawn at least twice as finely as a plain
/// screen shows them. Readers print the charts as they are.
const FINER: &str =
    "if (devicePixelRatio < 2) Object.defineProperty(window, \"devicePixelRatio\", { get: () => 2 });\n";

/// Returns the style sheets of a report as one text.
pub fn styles() -> String {
    STYLES.join("\n")
}

/// Returns all scripts of a report as one text.
pub fn script() -> String {
    let mut text = format!("\"use strict\";\n{FINER}/*\n{}\n*/\n{UPLOT}\n", UPLOT_LICENSE.trim());
    text.push_str(&joined("report", &|name| {
        if name == "report" { Some(REPORT) } else { assets::module(name) }
    }));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the script of a report has no import or export, and that nothing ends its HTML element.
    #[test]
    fn the_script_needs_no_module() {
        for line in script().lines() {
            assert!(!line.starts_with("import ") && !line.starts_with("export "), "{line}");
        }
        let script = script().to_ascii_lowercase();
        assert!(!script.contains("</script") && !script.contains("<!--"));
        assert!(!styles().to_ascii_lowercase().contains("</style"));
    }
}
