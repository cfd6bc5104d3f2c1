//! Files of the server's page: compiled in, compressed once.

use std::collections::HashMap;
use std::io::Write;

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use flate2::write::GzEncoder;
use flate2::{Compression, Crc};

use crate::joined::joined;

/// Name of the file with the HTML page.
pub const PAGE: &str = "index.html";

/// Macro that returns names and bytes of files in the directory `assets`.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_bytes!(concat!("../assets/", $name)).as_slice())),*]
    };
}

/// Names and bytes of all files of the page.
static FILES: &[(&str, &[u8])] = &files![
    "index.html",
    "api.js",
    "browser.js",
    "card.js",
    "charts.js",
    "choice.js",
    "columns.js",
    "cursor.js",
    "dom.js",
    "early.js",
    "events.js",
    "findings.js",
    "heat.js",
    "icon.svg",
    "legend.js",
    "logs.js",
    "main.js",
    "menu.js",
    "names.js",
    "palette.js",
    "panels.js",
    "past.js",
    "plot.js",
    "ranges.js",
    "ranking.js",
    "report.js",
    "rove.js",
    "save.js",
    "store.js",
    "stream.js",
    "style.css",
    "svg.js",
    "table.js",
    "units.js",
    "upload.js",
    "uplot-license.txt",
    "uplot.css",
    "uplot.js",
    "view.js",
    "zone.js",
];

/// Returns the text of a JavaScript module of the page, by its name without `.js`.
pub fn module(name: &str) -> Option<&'static str> {
    let (_, bytes) = FILES.iter().find(|(file, _)| file.strip_suffix(".js") == Some(name))?;
    std::str::from_utf8(bytes).ok()
}

/// Name of the page's script: the module `main.js` with all others. A browser that loads each of them separately
/// needs three times as long.
const SCRIPT: &str = "page.js";

/// Compressed files of the page, ready to be sent.
#[derive(Debug)]
pub struct Assets {
    by_name: HashMap<&'static str, Asset>,
    /// Version of the page's files: a checksum of their bytes.
    version: String,
}

#[derive(Debug)]
struct Asset {
    content_type: &'static str,
    plain: Bytes,
    compressed: Option<Bytes>,
}

impl Assets {
    /// Compresses all files of the page, and writes their version into the addresses by which the page names them. If
    /// one file changes, all get new addresses.
    pub fn new() -> Self {
        Self::from_files(FILES)
    }

    fn from_files(files: &[(&'static str, &'static [u8])]) -> Self {
        // A checksum is enough: the files are compiled in, so no attacker chooses their bytes.
        let mut crc = Crc::new();
        files.iter().for_each(|(_, bytes)| crc.update(bytes));
        let version = format!("{:08x}{:x}", crc.sum(), crc.amount());
        let asset = |(name, bytes): &(&'static str, &'static [u8])| match *name {
            PAGE => {
                let page = String::from_utf8_lossy(bytes);
                // Addresses are relative, because a proxy may have the page below a path. Scripts import each
                // other from their own folder and so inherit the version.
                let page = page.replace("\"assets/", &format!("\"assets/{version}/"));
                (PAGE, Asset::new(PAGE, page.into()))
            }
            name => (name, Asset::new(name, Bytes::from_static(bytes))),
        };
        let mut by_name: HashMap<_, _> = files.iter().map(asset).collect();
        if by_name.contains_key("main.js") {
            by_name.insert(SCRIPT, Asset::new(SCRIPT, joined("main", &module).into()));
        }
        Self { by_name, version }
    }

    /// Returns a file, or only its entity tag if the client already has the file. The bytes never change under the
    /// version that the page names.
    pub fn answer(&self, name: &str, version: Option<&str>, headers: &HeaderMap) -> Option<Response> {
        let asset = self.by_name.get(name)?;
        let is_for_ever = version == Some(self.version.as_str());
        let keep = if is_for_ever { "public, max-age=31536000, immutable" } else { "no-cache" };
        let tag = format!("\"{}\"", self.version);
        let mut about = HeaderMap::new();
        about.insert(CACHE_CONTROL, HeaderValue::from_static(keep));
        about.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
        let asks = |name, text: &str| {
            headers.get_all(name).iter().any(|value| value.to_str().is_ok_and(|value| value.contains(text)))
        };
        // `If-None-Match` is a list, and a proxy may have weakened the tag to `W/"..."`. The quotes make the
        // search exact.
        let is_known = asks(IF_NONE_MATCH, &tag);
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            about.insert(ETAG, tag);
        }
        if is_known {
            return Some((StatusCode::NOT_MODIFIED, about).into_response());
        }
        about.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
        let compressed = asset.compressed.as_ref().filter(|_| asks(ACCEPT_ENCODING, "gzip"));
        if compressed.is_some() {
            about.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let bytes = compressed.unwrap_or(&asset.plain).clone();
        Some((about, Body::from(bytes)).into_response())
    }
}

impl Asset {
    fn new(name: &str, plain: Bytes) -> Self {
        let content_type = match name.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("png") => "image/png",
            Some("txt") => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        };
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let compressed = encoder.write_all(&plain).and_then(|()| encoder.finish()).ok();
        let compressed = compressed.filter(|bytes| bytes.len() < plain.len()).map(Bytes::from);
        Self { content_type, plain, compressed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that every file of `assets` is served, except `README.md`.
    #[test]
    fn all_files_are_there() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        let names =
            std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name != "README.md").collect();
        names.sort();
        let assets = Assets::new();
        let mut known: Vec<_> = assets.by_name.keys().copied().filter(|name| *name != SCRIPT).collect();
        known.sort_unstable();
        assert_eq!(names, known);
        let sent = [PAGE, SCRIPT, "style.css", "uplot.css", "uplot.js", "early.js"].map(|name| {
            let asset = &assets.by_name[name];
            asset.compressed.as_ref().unwrap_or(&asset.plain).len()
        });
        assert!(sent.iter().sum::<usize>() < 120_000, "{sent:?}");
    }

    #[test]
    fn the_page_names_versions_and_files_are_kept() {
        const APP: &[u8] = b"let x = 1; let x = 1; let x = 1; let x = 1; let x = 1; let x = 1; let x = 1;";
        let assets =
            Assets::from_files(&[(PAGE, b"<script src=\"assets/app.js\"></script>"), ("app.js", APP)]);
        let page = String::from_utf8(assets.by_name[PAGE].plain.to_vec()).unwrap();
        let version = assets.version.clone();
        assert_eq!(page, format!("<script src=\"assets/{version}/app.js\"></script>"));

        let none = HeaderMap::new();
        let header =
            |answer: &Response, name| answer.headers().get(name).map(|v| v.to_str().unwrap().to_owned());
        let plain = assets.answer("app.js", None, &none).unwrap();
        assert_eq!(header(&plain, CACHE_CONTROL).as_deref(), Some("no-cache"));
        assert_eq!(header(&plain, CONTENT_TYPE).as_deref(), Some("text/javascript; charset=utf-8"));
        assert_eq!(header(&plain, CONTENT_ENCODING), None);
        let kept = assets.answer("app.js", Some(&version), &none).unwrap();
        assert!(header(&kept, CACHE_CONTROL).unwrap().ends_with("immutable"));
        let mut gzip = HeaderMap::new();
        gzip.insert(ACCEPT_ENCODING, HeaderValue::from_static("br, gzip"));
        let packed = assets.answer("app.js", None, &gzip).unwrap();
        assert_eq!(header(&packed, CONTENT_ENCODING).as_deref(), Some("gzip"));
        let mut known = HeaderMap::new();
        known.insert(IF_NONE_MATCH, HeaderValue::from_str(&format!("\"{version}\"")).unwrap());
        assert_eq!(assets.answer("app.js", None, &known).unwrap().status(), StatusCode::NOT_MODIFIED);
        assert!(assets.answer("other.js", None, &none).is_none());
    }
}
