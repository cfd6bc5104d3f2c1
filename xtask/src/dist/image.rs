//! Container image with nothing except the command, as an OCI archive that podman, docker and skopeo load.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Release, processor, stage, tarball};
use crate::repository::output_of;

/// Directory of the machine's `/proc` in a container of this image, and that of `/sys`.
const ENVIRONMENT: [&str; 3] = ["PATH=/usr/bin", "PERFSET_PROC=/host/proc", "PERFSET_SYS=/host/sys"];

/// Packs `perfset-VERSION-PROCESSOR-image.tar`.
pub fn pack(release: &Release) -> Result<PathBuf> {
    let layout = release.folder("image")?;
    let root = release.folder("image-root")?;
    stage::copy(&release.program, &root.join("usr/bin/perfset"), 0o755)?;
    stage::open_folders(&root)?;
    let tar = release.work.join("layer.tar");
    tarball::pack_folder(&root, "usr", &tar, release.epoch)?;
    let layer_of_files = sum(&tar)?;
    let layer = release.work.join("layer.tar.gz");
    tarball::compress(&tar, &layer, release.level)?;
    let layer = blob(&layout, &fs::read(&layer)?, "application/vnd.oci.image.layer.v1.tar+gzip")?;
    let mut date = Command::new("date");
    let created =
        output_of(date.args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d"]).arg(format!("@{}", release.epoch)))?;
    let config = json!({
        "created": created.trim(),
        "architecture": processor()?.debian,
        "os": "linux",
        "config": {
            "Env": ENVIRONMENT,
            "Entrypoint": ["/usr/bin/perfset"],
            "Labels": {
                "org.opencontainers.image.title": "perfset",
                "org.opencontainers.image.version": release.version,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [format!("sha256:{layer_of_files}")] },
        "history": [{ "created": created.trim(), "created_by": "cargo xtask dist" }],
    });
    let config = blob(&layout, &serde_json::to_vec(&config)?, "application/vnd.oci.image.config.v1+json")?;
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": config,
        "layers": [layer],
    });
    let mut manifest = blob(&layout, &serde_json::to_vec(&manifest)?, MANIFEST)?;
    manifest["annotations"] =
        json!({ "org.opencontainers.image.ref.name": format!("perfset:{}", release.version) });
    let index = json!({ "schemaVersion": 2, "manifests": [manifest] });
    stage::file(&layout.join("index.json"), &serde_json::to_vec(&index)?, 0o644)?;
    stage::file(&layout.join("oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#, 0o644)?;
    stage::open_folders(&layout)?;
    let name = format!("perfset-{}-{}-image.tar", release.version, processor()?.rust);
    let archive = release.out.join(name);
    tarball::pack_folder(&layout, ".", &archive, release.epoch)?;
    Ok(archive)
}

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Stores a blob under its checksum, and returns its descriptor.
fn blob(layout: &Path, bytes: &[u8], kind: &str) -> Result<Value> {
    let folder = layout.join("blobs/sha256");
    let new = folder.join("new");
    stage::file(&new, bytes, 0o644)?;
    let sum = sum(&new)?;
    fs::rename(&new, folder.join(&sum))?;
    Ok(json!({ "mediaType": kind, "digest": format!("sha256:{sum}"), "size": bytes.len() }))
}

/// Returns the SHA-256 of a file.
fn sum(file: &Path) -> Result<String> {
    let printed = output_of(Command::new("sha256sum").arg("--").arg(file))?;
    Ok(printed.split_whitespace().next().context("sha256sum prints a sum")?.to_owned())
}
