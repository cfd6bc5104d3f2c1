//! Check of the crates' manifests: a description in each, and the fields that registries show in published ones.

use std::path::Path;

use super::Problem;

/// Manifest fields that a published crate inherits from the workspace, so that all crates have the same.
const INHERITED: [&str; 7] =
    ["version", "edition", "rust-version", "license", "readme", "keywords", "categories"];

/// Returns the problems of a crate's manifest.
pub fn check(path: &Path, manifest: &str) -> Vec<Problem> {
    let problem = |what: String| Problem::new(path, None, what);
    let manifest: toml::Table = match manifest.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![problem(error.to_string())],
    };
    let Some(package) = manifest.get("package") else { return Vec::new() };
    let mut problems = Vec::new();
    let description = package.get("description").and_then(toml::Value::as_str).unwrap_or_default();
    if !description.starts_with(char::is_uppercase) || !description.ends_with('.') {
        problems.push(problem("has no description that is a sentence".to_owned()));
    }
    if package.get("publish").and_then(toml::Value::as_bool) == Some(false) {
        return problems;
    }
    let is_true = |value: Option<&toml::Value>, key: &str| {
        value.and_then(|value| value.get(key)?.as_bool()).unwrap_or_default()
    };
    // A crate may need a newer compiler than the workspace does, because a dependency needs it.
    let is_own =
        |field: &&&str| **field == "rust-version" && package.get(field).is_some_and(toml::Value::is_str);
    let missing =
        INHERITED.iter().filter(|field| !is_own(field) && !is_true(package.get(field), "workspace"));
    problems.extend(missing.map(|field| problem(format!("is published and lacks {field}.workspace = true"))));
    let docs = package.get("metadata").and_then(|metadata| metadata.get("docs")?.get("rs"));
    if !is_true(docs, "all-features") {
        let what = "is published and lacks all-features = true in [package.metadata.docs.rs]";
        problems.push(problem(what.to_owned()));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_described() {
        let private = "publish = false\n";
        for (manifest, good) in [
            ("[package]\nname = \"a\"\ndescription = \"Counts.\"\n", true),
            ("[package]\nname = \"a\"\ndescription = \"counts\"\n", false),
            ("[package]\nname = \"a\"\n", false),
            ("[workspace]\n", true),
            ("[package\n", false),
        ] {
            let manifest = manifest.replace("name", &format!("{private}name"));
            assert_eq!(check(Path::new("Cargo.toml"), &manifest).is_empty(), good, "{manifest}");
        }
    }

    #[test]
    fn published_crates_have_all_fields() {
        let good = "[package]\nname = \"a\"\ndescription = \"Counts.\"\nversion.workspace = true\n\
            edition.workspace = true\nrust-version.workspace = true\nlicense.workspace = true\n\
            readme.workspace = true\nkeywords.workspace = true\ncategories.workspace = true\n\
            [package.metadata.docs.rs]\nall-features = true\n";
        let problems = |from: &str, to: &str| -> Vec<String> {
            let problems = check(Path::new("Cargo.toml"), &good.replace(from, to));
            problems.into_iter().map(|problem| problem.what).collect()
        };
        assert_eq!(problems("", ""), [""; 0]);
        assert_eq!(problems("rust-version.workspace = true", "rust-version = \"1.90\""), [""; 0]);
        for (from, to, lacks) in [
            ("readme.workspace = true", "", "readme.workspace = true"),
            ("keywords.workspace = true", "keywords = [\"a\"]", "keywords.workspace = true"),
            ("rust-version.workspace = true", "", "rust-version.workspace = true"),
            ("all-features = true", "", "all-features = true in [package.metadata.docs.rs]"),
        ] {
            assert_eq!(problems(from, to), [format!("is published and lacks {lacks}")], "{from}");
        }
    }
}
