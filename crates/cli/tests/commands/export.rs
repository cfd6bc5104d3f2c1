//! Tests of `perfset log export`, with and without the feature `parquet`.

use crate::running::{run, scratch, testdata};

#[test]
fn wrong_options_are_refused() {
    for words in [
        &["log", "export"][..],
        &["log", "export", "rec"],
        &["log", "export", "rec", "--to", "parquet"],
        &["log", "export", "rec", "--to", "csv", "-o", "lake"],
        &["log", "export", "--views", "duckdb", "--to", "parquet", "-o", "lake"],
        &["log", "export", "rec", "--to", "parquet", "-o", "lake", "--force"],
        &["record", "-o", "one.perfset", "--export", "lake"],
        &["record", "--status", "--export", "lake"],
    ] {
        let (code, out, err) = run("small-vm", words);
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}: {err}");
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn command_without_parquet_names_the_feature() {
    let lake = scratch("export-without").join("lake");
    let log = testdata("logs/perfmon.csv");
    let words = ["log", "export", log.to_str().unwrap(), "--to", "parquet", "-o", lake.to_str().unwrap()];
    for words in [&words[..], &["log", "export", "--views", "duckdb"]] {
        let (code, out, err) = run("small-vm", words);
        assert_eq!((code, out.as_str()), (2, ""), "{err}");
        assert!(err.starts_with("error: ") && err.contains("--features parquet"), "{err}");
    }
    assert!(!lake.exists());
}

#[cfg(not(feature = "parquet"))]
#[test]
fn recorder_without_parquet_names_the_feature() {
    let rec = scratch("record-without").join("rec");
    let words = ["record", "--dir", rec.to_str().unwrap(), "--export", "lake", "mem", "10ms", "1"];
    let (code, _, err) = run("small-vm", &words);
    assert!(code == 2 && err.contains("--features parquet") && !rec.exists(), "{code} {err}");
}

#[cfg(feature = "parquet")]
#[test]
fn addresses_that_cannot_be_used_are_refused() {
    let log = testdata("logs/perfmon.csv");
    let rec = scratch("export-address").join("rec");
    let (log, rec) = (log.to_str().unwrap(), rec.to_str().unwrap());
    let mut refused = vec![("http://bucket/x", "http:// is no known place"), ("file://lake", "file:///PATH")];
    match cfg!(feature = "object-store") {
        true => refused.push(("s3://key:secret@bucket/x", "no user, key or query")),
        false => {
            refused.extend(["s3://b", "az://b/x", "gs://b"].map(|store| (store, "--features object-store")));
        }
    }
    for (address, reason) in refused {
        let export = ["log", "export", log, "--to", "parquet", "-o", address];
        let record = ["record", "--dir", rec, "--export", address, "mem", "10ms", "1"];
        for words in [&export[..], &record] {
            let (code, out, err) = run("small-vm", words);
            assert!(
                (code, &*out) == (2, "") && err.contains(reason) && !err.contains("secret"),
                "{code} {err}"
            );
        }
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_recorder_exports_what_it_records() {
    let folder = scratch("record-export");
    let (rec, lake) = (folder.join("rec"), folder.join("lake"));
    let (rec, lake) = (rec.to_str().unwrap(), lake.to_str().unwrap());
    let record = ["record", "--dir", rec, "--export", lake, "mem", "10ms", "3"];
    let mut files = 0;
    for _ in 0..2 {
        let (code, _, err) = run("small-vm", &record);
        assert!(code == 0 && !err.contains("warning"), "{err}");
        let memory = std::fs::read_dir(format!("{lake}/counterset=memory")).unwrap().next().unwrap().unwrap();
        let host = std::fs::read_dir(memory.path()).unwrap().next().unwrap().unwrap();
        let found = std::fs::read_dir(host.path()).unwrap().count();
        assert!(found > files, "{found}");
        files = found;
        // Nothing is left for another export.
        let address = format!("file://{lake}");
        assert_eq!(run("small-vm", &["log", "export", rec, "--to", "parquet", "-o", &address]).0, 0);
        assert_eq!(std::fs::read_dir(host.path()).unwrap().count(), files);
    }
    // A file is in the place of the directory: the recorder ends well, and says so.
    let other = format!("{lake}/x");
    std::fs::write(&other, "").unwrap();
    let (code, _, err) = run("small-vm", &["record", "--dir", rec, "--export", &other, "mem", "10ms", "3"]);
    assert!(
        code == 0 && err.contains("warning: the last export to") && err.contains("3 samples"),
        "{code} {err}"
    );
}

#[cfg(feature = "parquet")]
#[test]
fn logs_of_several_machines_are_exported() {
    let folder = scratch("export");
    let (lake, log) = (folder.join("lake"), folder.join("two.csv"));
    let text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\A\\Memory\\Pages/sec\",\"\\\\B\\Memory\\Pages/sec\"\n\
        \"11/05/2026 10:00:00.000\",\"12.5\",\"1\"\n";
    std::fs::write(&log, text).unwrap();
    let (lake, log) = (lake.to_str().unwrap(), log.to_str().unwrap());
    let export = ["log", "export", log, "--to", "parquet", "-o", lake];
    assert_eq!(run("small-vm", &export), (0, String::new(), String::new()));
    for host in ["A", "B"] {
        let folder = format!("{lake}/counterset=memory/date=2026-11-05/host={host}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "{folder}");
    }
    // `log info` tells what a file has, and where it is damaged.
    let a = format!("{lake}/counterset=memory/date=2026-11-05/host=A");
    let file = std::fs::read_dir(&a).unwrap().next().unwrap().unwrap().path();
    let info = ["log", "info", file.to_str().unwrap()];
    let (code, out, err) = run("small-vm", &info);
    assert!(code == 0 && out.contains("Memory") && out.contains("2026-11-05"), "{code} {out} {err}");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let (code, out, err) = run("small-vm", &info);
    let said = out + &err;
    assert!(code != 0 && said.contains("no description at the end of the file"), "{code} {said}");
    std::fs::write(&file, bytes).unwrap();
    let (code, out, err) = run("small-vm", &["log", "export", "--views", "duckdb", lake]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_eq!(out.matches("CREATE OR REPLACE VIEW").count(), 1, "{out}");
    let (code, out, _) = run("small-vm", &["log", "export", "--views", "spark", "s3://bucket/lake"]);
    assert!(code == 0 && out.contains("parquet.`s3://bucket/lake/counterset=process_v2`"), "{out}");
    // A file in the place of the directory, and a directory without files.
    assert_eq!(run("small-vm", &["log", "export", log, "--to", "parquet", "-o", log]).0, 2);
    assert_eq!(run("small-vm", &["log", "export", "--views", "duckdb", folder.to_str().unwrap()]).0, 3);
    let _ = testdata("logs");
}
