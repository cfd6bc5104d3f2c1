//! Tests of the store of registered providers.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use perfset_core::{Guid, Status};
use perfset_manifest::Manifest;
use perfset_manifest::store::{Installed, Removal, Removed, Store, StoreError};

/// Directory of one test of the store, removed after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("store-{name}"));
        let _ = fs::remove_dir_all(&folder); // the first run has none
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns a manifest of a provider with countersets, with small numbers as GUIDs.
fn manifest(provider: u128, sets: &[(u128, &str)]) -> Vec<u8> {
    let guid = Guid::from_u128;
    let set = |(number, name): &(u128, &str)| {
        format!(
            "<counterSet guid='{:?}' uri='u{number}' symbol='S{number}' name='{name}' description='D'>
             <counter id='1' uri='c{number}' name='N' description='D' type='perf_counter_rawcount'
             detailLevel='standard'/>
             </counterSet>",
            guid(*number)
        )
    };
    let text = format!(
        "<instrumentationManifest xmlns='http://schemas.microsoft.com/win/2004/08/events'><instrumentation>
         <counters xmlns='http://schemas.microsoft.com/win/2005/12/counters' schemaVersion='1.1'>
         <provider providerGuid='{:?}' providerName='P{provider}' symbol='P' applicationIdentity='a'>{}</provider>
         </counters></instrumentation></instrumentationManifest>",
        guid(provider),
        sets.iter().map(set).collect::<String>()
    );
    Manifest::parse(text.as_bytes()).unwrap();
    text.into_bytes()
}

fn name(provider: u128) -> String {
    format!("{}.man", Guid::from_u128(provider))
}

fn names(store: &Store) -> Vec<String> {
    store.countersets().map(|set| set.name.to_string()).collect()
}

fn ignored(store: &Store) -> Vec<String> {
    let name = |file: &Path| file.file_name().unwrap().to_string_lossy().into_owned();
    store.ignored().iter().map(|ignored| format!("{}: {}", name(&ignored.file), ignored.why)).collect()
}

/// Sets the modification time of a store directory to this number of seconds ago.
#[cfg(unix)]
fn settled(folder: &Path, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    File::open(folder).unwrap().set_modified(time).unwrap();
}

#[test]
fn installing_and_removing() {
    let scratch = Scratch::new("installing");
    let folder = scratch.folder("new/providers");
    let mut store = Store::new(vec![folder.clone()]);
    store.refresh();
    let both = manifest(1, &[(11, "One"), (12, "Two")]);
    let file = folder.join("00000000-0000-0000-0000-000000000001.man");
    assert_eq!(store.install(&both, &folder).unwrap(), Installed::New(file.clone()));
    assert_eq!(fs::read(&file).unwrap(), both, "as it was given");
    assert_eq!(names(&store), ["One", "Two"]);
    // The same again, in other words.
    let again = Manifest::parse(&both).unwrap().write();
    assert_eq!(store.install(again.as_bytes(), &folder).unwrap(), Installed::Before(file.clone()));
    assert_eq!(fs::read(&file).unwrap(), both);
    // Another manifest of the same provider, and others that want what it has.
    let owner = format!("the provider \"P1\" {{{}}} of {}", Guid::from_u128(1), file.display());
    for (other, what) in [
        (manifest(1, &[(11, "One")]), "the provider {00000000-0000-0000-0000-000000000001}"),
        (
            manifest(2, &[(21, "Three"), (12, "Four")]),
            "the counterset {00000000-0000-0000-0000-00000000000c}",
        ),
        (manifest(2, &[(21, "TWO")]), "the counterset name \"two\""),
    ] {
        let error = store.install(&other, &folder).unwrap_err();
        assert_eq!(error.status(), Status::ERROR_ALREADY_EXISTS);
        assert_eq!(error.to_string(), format!("{what} belongs to {owner}; remove that registration first"));
    }
    let built_in = store.install(&manifest(2, &[(21, "memory")]), &folder).unwrap_err();
    assert_eq!(
        built_in.to_string(),
        "the counterset name \"memory\" belongs to \"Memory\", which is built in; remove that registration first"
    );
    let broken = store.install(b"<a/>", &folder).unwrap_err();
    assert_eq!(broken.status(), Status::ERROR_INVALID_DATA);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left of what failed");

    let counterset = Removal::Guid(Guid::from_u128(11));
    assert_eq!(store.remove(&counterset).unwrap(), Removed::Counterset(file.clone()));
    assert_eq!(names(&store), ["Two"]);
    assert!(matches!(store.remove(&counterset), Err(StoreError::NotFound)));
    assert_eq!(store.remove(&Removal::Guid(Guid::from_u128(12))).unwrap(), Removed::Provider(file.clone()));
    assert_eq!((names(&store).len(), file.exists()), (0, false));

    store.install(&both, &folder).unwrap();
    assert_eq!(store.remove(&Removal::Name("p1".into())).unwrap(), Removed::Provider(file.clone()));
    store.install(&both, &folder).unwrap();
    assert_eq!(store.remove(&Removal::Guid(Guid::from_u128(1))).unwrap(), Removed::Provider(file));
    assert_eq!(store.remove(&Removal::Name("P1".into())).unwrap_err().status(), Status::ERROR_NOT_FOUND);
}

#[test]
fn a_name_of_several_removes_none() {
    let scratch = Scratch::new("several");
    let mut store = Store::new(vec![scratch.0.clone()]);
    let text = |provider| {
        String::from_utf8(manifest(provider, &[(provider + 10, if provider == 1 { "A" } else { "B" })]))
            .unwrap()
    };
    for provider in [1, 2] {
        store
            .install(
                text(provider).replace("providerName='P1'", "").replace("providerName='P2'", "").as_bytes(),
                &scratch.0,
            )
            .unwrap();
    }
    let error = store.remove(&Removal::Name("counters".into())).unwrap_err();
    let want = "several providers have this name; use one of their GUIDs: {00000000-0000-0000-0000-000000000001}, \
                {00000000-0000-0000-0000-000000000002}";
    assert_eq!(error.to_string(), want);
    assert_eq!(names(&store), ["A", "B"]);
}

#[test]
fn earlier_folders_win() {
    let scratch = Scratch::new("order");
    let folders = ["first", "missing", "last"].map(|name| scratch.folder(name));
    for folder in [&folders[0], &folders[2]] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(folders[0].join(name(1)), manifest(1, &[(11, "One")])).unwrap();
    fs::write(folders[2].join(name(1)), manifest(1, &[(12, "Other")])).unwrap();
    fs::write(folders[2].join(name(2)), manifest(2, &[(21, "Two"), (22, "one")])).unwrap();
    fs::write(folders[2].join(name(3)), manifest(3, &[(31, "Three")])).unwrap();
    let mut store = Store::new(folders.to_vec());
    assert!(store.refresh());
    assert_eq!(names(&store), ["One", "Three"]);
    let owner =
        format!("the provider \"P1\" {{{}}} of {}", Guid::from_u128(1), folders[0].join(name(1)).display());
    let want = [
        format!("{}: the provider {{{}}} belongs to {owner}", name(1), Guid::from_u128(1)),
        format!("{}: the counterset name \"one\" belongs to {owner}", name(2)),
    ];
    assert_eq!(ignored(&store), want);
    // Removed, it makes place for the other two.
    assert_eq!(
        store.remove(&Removal::Guid(Guid::from_u128(1))).unwrap(),
        Removed::Provider(folders[0].join(name(1)))
    );
    assert_eq!(names(&store), ["Other", "Two", "one", "Three"]);
}

#[test]
fn broken_manifest_is_ignored_alone() {
    let scratch = Scratch::new("broken");
    let folder = &scratch.0;
    let put = |file: &str, bytes: &[u8]| fs::write(folder.join(file), bytes).unwrap();
    put(&name(1), &manifest(1, &[(11, "One")]));
    put(&name(2), b"<x/>");
    put(&name(3), &manifest(1, &[(11, "One")]));
    put(&format!(".{}", name(4)), &manifest(4, &[(41, "Hidden")]));
    put("README.md", b"not looked at");
    fs::create_dir(folder.join(name(5))).unwrap();
    let large = File::create(folder.join(name(6))).unwrap();
    large.set_len(1 << 40).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/zero", folder.join(name(7))).unwrap();
        std::os::unix::fs::symlink(folder.join(name(1)), folder.join(name(8))).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.join(name(9)),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
    }
    put(&name(10), b"\xFF\xFE\0");
    let mut store = Store::new(vec![folder.clone()]);
    store.refresh();
    assert_eq!(names(&store), ["One"]);
    let mut want = vec![
        format!(
            "{}: 1:1: error: the file begins with \"x\"; \
             instrumentationManifest of the namespace http://schemas.microsoft.com/win/2004/08/events [element]",
            name(2)
        ),
        format!("{}: the file of this provider must be named {}", name(3), name(1)),
        format!("{}: the path is not a regular file", name(5)),
        format!("{}: the file has 1099511627776 bytes; a manifest may have at most 16777216", name(6)),
        format!(
            "{}: 1:1: error: this is not UTF-16LE; \
             save the file as utf-8, or have the declaration say what it is [xml]",
            name(10)
        ),
    ];
    if cfg!(unix) {
        want.splice(
            4..4,
            [7, 8, 9].map(|number| format!("{}: the path is not a regular file", name(number))),
        );
    }
    assert_eq!(ignored(&store), want);
    // By its GUID such a file can be removed, and is replaced by a good one.
    assert_eq!(
        store.remove(&Removal::Guid(Guid::from_u128(2))).unwrap(),
        Removed::Provider(folder.join(name(2)))
    );
    store.install(&manifest(7, &[(71, "Seven")]), folder).unwrap();
    assert_eq!(names(&store), ["One", "Seven"]);
}

#[cfg(unix)] // elsewhere a folder's time cannot be set so
#[test]
fn only_what_changed_is_read_again() {
    let scratch = Scratch::new("refresh");
    let folder = scratch.folder("late");
    let mut store = Store::new(vec![folder.clone()]);
    assert!(store.refresh(), "the first time");
    assert!(!store.refresh(), "a folder that is not there stays so");
    fs::create_dir(&folder).unwrap();
    settled(&folder, 60);
    assert!(store.refresh());
    assert!(!store.refresh());
    fs::write(folder.join(name(1)), manifest(1, &[(11, "One")])).unwrap();
    assert!(store.refresh());
    assert_eq!(names(&store), ["One"]);
    assert!(store.refresh(), "it changed a moment ago, and may have changed again since");
    settled(&folder, 60);
    assert!(store.refresh(), "the time is another");
    assert!(!store.refresh());
    fs::remove_dir_all(&folder).unwrap();
    assert!(store.refresh());
    assert_eq!(names(&store), [""; 0]);
    // Same time, other directory.
    fs::create_dir(&folder).unwrap();
    settled(&folder, 60);
    assert!(store.refresh());
}
