//! Package for Python's pip that carries the command: `pip install perfset` puts it beside Python's own commands.

use std::path::PathBuf;

use anyhow::Result;

use super::{Release, processor, stage};

/// Packs the wheel.
pub fn pack(release: &Release) -> Result<PathBuf> {
    let (version, processor) = (&release.version, processor()?.rust);
    // A static command runs with every C library, and these names are the oldest that pip knows for each.
    let tags =
        format!("py3-none-manylinux2014_{processor}.manylinux_2_17_{processor}.musllinux_1_1_{processor}");
    let folder = release.folder("wheel")?;
    stage::copy(&release.program, &folder.join(format!("perfset-{version}.data/scripts/perfset")), 0o755)?;
    let about = folder.join(format!("perfset-{version}.dist-info"));
    let metadata = format!(
        "Metadata-Version: 2.1\nName: perfset\nVersion: {version}\nSummary: Performance counters of the system and of \
         applications.\nLicense: MIT OR Apache-2.0\nRequires-Python: >=3.7\nDescription-Content-Type: \
         text/plain\n\nThe command perfset, as one file that needs nothing else: perfset --help.\n"
    );
    stage::file(&about.join("METADATA"), metadata.as_bytes(), 0o644)?;
    let (interpreter, rest) = tags.split_at("py3-none-".len());
    let lines: String = rest.split('.').map(|tag| format!("Tag: {interpreter}{tag}\n")).collect();
    let wheel = format!("Wheel-Version: 1.0\nGenerator: perfset\nRoot-Is-Purelib: false\n{lines}");
    stage::file(&about.join("WHEEL"), wheel.as_bytes(), 0o644)?;
    for (from, to) in
        [("LICENSE-APACHE", "LICENSE-APACHE"), ("LICENSE-MIT", "LICENSE-MIT"), stage::FONT_LICENCE]
    {
        stage::copy_own(from, &about.join("licenses").join(to))?;
    }
    let path = release.out.join(format!("perfset-{version}-{tags}.whl"));
    stage::zip(&folder, &path, release)?;
    Ok(path)
}
