//! Software bill of materials: the crates that are linked into the command, as CycloneDX.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Release, processor};
use crate::repository::{output_of, root};
use crate::windows::mingw;

/// Writes the bill of the command for Linux, `perfset-VERSION.cdx.json`.
pub fn of_linux(release: &Release) -> Result<PathBuf> {
    let target = format!("{}-unknown-linux-gnu", processor()?.rust);
    write(release, &target, release.features(), "")
}

/// Writes the bill of the command for Windows, `perfset-VERSION-windows.cdx.json`.
pub fn of_windows(release: &Release) -> Result<PathBuf> {
    write(release, mingw::TARGET, "", "-windows")
}

fn write(release: &Release, target: &str, features: &str, suffix: &str) -> Result<PathBuf> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--locked", "--format-version=1", "--filter-platform", target]);
    cargo.args(["--manifest-path", "crates/cli/Cargo.toml", "--features", features]);
    let metadata = serde_json::from_str(&output_of(cargo.current_dir(root()))?)?;
    let bill = bill(&metadata, &release.version).context("cargo metadata does not list the crates")?;
    let path = release.out.join(format!("perfset-{}{suffix}.cdx.json", release.version));
    fs::write(&path, serde_json::to_vec_pretty(&bill)?)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// Returns the bill of the package `perfset-cli` in a description by `cargo metadata`. Dependencies of builds and tests
/// are not linked, so they are left out.
fn bill(metadata: &Value, version: &str) -> Option<Value> {
    let packages = metadata.get("packages")?.as_array()?;
    let by_id: BTreeMap<&str, &Value> =
        packages.iter().filter_map(|package| Some((package.get("id")?.as_str()?, package))).collect();
    let nodes = metadata.get("resolve")?.get("nodes")?.as_array()?;
    let linked: BTreeMap<&str, Vec<&str>> =
        nodes.iter().filter_map(|node| Some((node.get("id")?.as_str()?, linked_with(node)?))).collect();
    let root = by_id
        .iter()
        .find(|(_, package)| package.get("name").and_then(Value::as_str) == Some("perfset-cli"))?;
    let (mut seen, mut waiting) = (BTreeSet::from([*root.0]), vec![*root.0]);
    while let Some(id) = waiting.pop() {
        waiting.extend(linked.get(id)?.iter().copied().filter(|id| seen.insert(id)));
    }
    let url = |package: &Value| -> Option<String> {
        let field = |name: &str| package.get(name).and_then(Value::as_str);
        Some(format!("pkg:cargo/{}@{}", field("name")?, field("version")?))
    };
    let mut components = Vec::new();
    let mut dependencies = Vec::new();
    for id in &seen {
        let package = by_id.get(id)?;
        let reference = url(package)?;
        if id != root.0 {
            components.push(json!({
                "type": "library",
                "bom-ref": reference,
                "name": package.get("name"),
                "version": package.get("version"),
                "licenses": [{ "expression": expression(package.get("license").and_then(Value::as_str)) }],
                "purl": reference,
            }));
        }
        let on: Option<Vec<String>> = linked.get(id)?.iter().map(|on| url(by_id.get(on)?)).collect();
        dependencies.push(json!({ "ref": reference, "dependsOn": on? }));
    }
    Some(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": url(root.1)?,
                "name": "perfset",
                "version": version,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// Returns the crates that a crate is linked with.
fn linked_with(node: &Value) -> Option<Vec<&str>> {
    let is_linked = |dependency: &&Value| {
        let kinds = dependency.get("dep_kinds").and_then(Value::as_array);
        // A dependency of any program has no kind; others are `dev` and `build`.
        kinds.is_none_or(|kinds| kinds.iter().any(|kind| kind.get("kind").is_none_or(Value::is_null)))
    };
    let dependencies = node.get("deps")?.as_array()?;
    dependencies.iter().filter(is_linked).map(|dependency| dependency.get("pkg")?.as_str()).collect()
}

/// Returns a licence as SPDX writes it: older manifests have a slash for `OR`.
fn expression(licence: Option<&str>) -> String {
    licence.unwrap_or("NOASSERTION").replace(" / ", "/").replace('/', " OR ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_linked_crates_are_listed() {
        let id = |name: &str| format!("{name} 1");
        let package = |name: &str| {
            let licence = "MIT/Apache-2.0";
            json!({ "id": id(name), "name": name, "version": "1.0.0", "license": licence })
        };
        let dependency =
            |name: &str, kind: Option<&str>| json!({ "pkg": id(name), "dep_kinds": [{ "kind": kind }] });
        let packages = ["perfset-cli", "a", "b", "tests", "other"].map(package);
        let metadata = json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "perfset-cli 1", "deps": [dependency("a", None), dependency("tests", Some("dev"))] },
                { "id": "a 1", "deps": [dependency("b", None)] },
                { "id": "b 1", "deps": [] },
                { "id": "tests 1", "deps": [] },
                { "id": "other 1", "deps": [] },
            ] },
        });
        let bill = bill(&metadata, "2.0.0").unwrap();
        let names: Vec<_> = bill["components"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(bill["components"][0]["purl"], "pkg:cargo/a@1.0.0");
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["metadata"]["component"]["version"], "2.0.0");
        assert_eq!(bill["dependencies"].as_array().unwrap().len(), 3);
    }
}
