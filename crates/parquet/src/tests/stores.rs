//! Tests of exports into an object store in memory, which fails as a test demands.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path as Location;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};
use tokio::runtime::Builder;

use super::*;
use crate::store::StoreRoot;

/// Fault of a test's object store.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    No,
    /// Refuses to store an object.
    Put,
    /// Stores an object, and responds that it existed already.
    LostAnswer,
    /// Refuses the upload's part with this number.
    Part(usize),
    /// Refuses to complete an upload in parts.
    Complete,
    /// Never responds to a request.
    Silent,
}

/// Object store in memory that has a fault.
#[derive(Debug)]
struct FaultyStore {
    inner: InMemory,
    fault: Mutex<Fault>,
    reads: AtomicUsize,
    aborts: Arc<AtomicUsize>,
}

fn refused() -> Error {
    Error::Generic { store: "test", source: "the disk is full".into() }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("test")
    }
}

impl FaultyStore {
    fn new() -> Arc<Self> {
        let (fault, reads, aborts) = (Mutex::new(Fault::No), AtomicUsize::new(0), Arc::default());
        Arc::new(Self { inner: InMemory::new(), fault, reads, aborts })
    }

    fn set(&self, fault: Fault) {
        *self.fault.lock().unwrap() = fault;
    }

    async fn fault(&self) -> Fault {
        let fault = *self.fault.lock().unwrap();
        if fault == Fault::Silent {
            std::future::pending::<()>().await;
        }
        fault
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(&self, at: &Location, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        match self.fault().await {
            Fault::Put => Err(refused()),
            Fault::LostAnswer => {
                self.inner.put_opts(at, payload, options).await?;
                Err(Error::AlreadyExists { path: at.to_string(), source: "exists".into() })
            }
            _ => self.inner.put_opts(at, payload, options).await,
        }
    }

    async fn put_multipart_opts(
        &self,
        at: &Location,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let fault = self.fault().await;
        let (inner, aborts) = (self.inner.put_multipart_opts(at, options).await?, Arc::clone(&self.aborts));
        Ok(Box::new(FaultyUpload { inner, fault, parts: 0, aborts }))
    }

    async fn get_opts(&self, at: &Location, options: GetOptions) -> Result<GetResult> {
        self.fault().await;
        assert!(options.head || options.range.is_some(), "no whole object is read");
        if !options.head {
            self.reads.fetch_add(1, Relaxed);
        }
        self.inner.get_opts(at, options).await
    }

    fn delete_stream(
        &self,
        all: BoxStream<'static, Result<Location>>,
    ) -> BoxStream<'static, Result<Location>> {
        self.inner.delete_stream(all)
    }

    fn list(&self, prefix: Option<&Location>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Location>) -> Result<ListResult> {
        self.fault().await;
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Location, to: &Location, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn MultipartUpload>,
    fault: Fault,
    parts: usize,
    aborts: Arc<AtomicUsize>,
}

#[async_trait]
impl MultipartUpload for FaultyUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        self.parts += 1;
        match self.fault == Fault::Part(self.parts) {
            true => Box::pin(std::future::ready(Err(refused()))),
            false => self.inner.put_part(data),
        }
    }

    async fn complete(&mut self) -> Result<PutResult> {
        if self.fault == Fault::Complete { Err(refused()) } else { self.inner.complete().await }
    }

    async fn abort(&mut self) -> Result<()> {
        self.aborts.fetch_add(1, Relaxed);
        self.inner.abort().await
    }
}

/// Prefix of the locations of exported objects.
const PREFIX: &str = "lake/of 1";

/// Recording of a test, and the object store that it is exported to.
struct StoreTest {
    scratch: ScratchFolder,
    recorder: TestRecorder,
    store: Arc<FaultyStore>,
}

impl StoreTest {
    fn new(test: &str) -> Self {
        let scratch = ScratchFolder::new(test);
        let recorder = TestRecorder::new(&scratch.recording(), "web1", "c6274b68-7e5d", "run1");
        Self { scratch, recorder, store: FaultyStore::new() }
    }

    fn tick(&mut self, second: i64) {
        let reads = u64::try_from(second).unwrap();
        self.recorder.tick(at(second), vec![("a".into(), 1, 0, cells([reads, 0, 0]))]);
    }

    /// Returns the root of exported files in the test's object store, with this size of upload parts.
    fn root(&self, part: u64) -> ExportRoot {
        ExportRoot::store(StoreRoot::given(self.store.clone(), PREFIX, part))
    }

    fn export(&self, root: &ExportRoot) -> std::result::Result<ExportSummary, String> {
        let logs = Logs::open(&[self.scratch.recording()]).unwrap();
        let options = ExportOptions::default().deadline(Duration::from_millis(300));
        export(&logs, root.clone(), options, || {}).map_err(|error| error.to_string())
    }

    fn wait<T>(&self, asked: impl Future<Output = Result<T>>) -> Result<T> {
        Builder::new_current_thread().build().unwrap().block_on(asked)
    }

    /// Returns all objects of the test's store below the prefix, with their bytes.
    fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        use futures_util::TryStreamExt;

        let listed: Vec<_> = self.wait(self.store.inner.list(None).try_collect()).unwrap();
        let read = |at: &Location| {
            let read = async { self.store.inner.get(at).await?.bytes().await };
            (at.to_string(), self.wait(read).unwrap().to_vec())
        };
        listed.iter().map(|object| read(&object.location)).collect()
    }

    fn put(&self, at: &str, bytes: Vec<u8>) {
        self.wait(self.store.inner.put(&Location::parse(at).unwrap(), bytes.into())).unwrap();
    }
}

const MANY: u64 = 1 << 30;

#[test]
fn objects_are_what_files_are_and_an_export_goes_on() {
    let mut test = StoreTest::new("store-goes-on");
    // Of other hosts and directories, which are not looked at.
    let others = [format!("{PREFIX}/{FOLDER}0/x.parquet"), format!("{PREFIX}/{FOLDER}/more/x.parquet")];
    others.iter().for_each(|other| test.put(other, b"PAR1".to_vec()));
    let (whole, parts) = (test.root(MANY), test.root(1_000));
    for second in 1..=20 {
        test.tick(second);
        if second % 7 == 0 {
            let root = if second == 14 { &parts } else { &whole };
            let summary = test.export(root).unwrap();
            let url = format!("test://bucket/{PREFIX}/{FOLDER}/c6274b68-");
            assert!(
                summary.files.len() == 1 && summary.files[0].to_str().unwrap().starts_with(&url),
                "{summary:?}"
            );
            test.scratch.export();
        }
    }
    test.export(&whole).unwrap();
    test.scratch.export();
    assert_eq!(test.export(&whole).unwrap().files, NO_FILES);
    let mut objects = test.objects();
    others.iter().for_each(|other| drop(objects.remove(other)));
    let files = test.scratch.files();
    assert_eq!(objects.len(), 3);
    assert!(
        objects.keys().eq(files.iter().map(|file| format!("{PREFIX}/{file}")).collect::<Vec<_>>().iter())
    );
    for (file, object) in files.iter().zip(objects.values()) {
        assert!(fs::read(test.scratch.root().join(file)).unwrap() == *object, "{file}");
    }
    assert_eq!(test.store.aborts.load(Relaxed), 0);
}

#[test]
fn footers_are_read_once() {
    let mut test = StoreTest::new("store-once");
    let root = test.root(MANY);
    for second in 1..=3 {
        test.tick(second);
        test.export(&root).unwrap();
    }
    test.export(&root).unwrap();
    let reads = || test.store.reads.swap(0, Relaxed);
    assert_eq!(reads(), 3);
    // An object that another program replaced is read again.
    let (at, bytes) = test.objects().pop_first().unwrap();
    test.put(&at, bytes);
    test.export(&root).unwrap();
    assert_eq!(reads(), 1);
    test.export(&test.root(MANY)).unwrap();
    assert_eq!(reads(), 3);
}

#[test]
fn a_failed_upload_leaves_no_object_and_is_made_up_for() {
    let mut test = StoreTest::new("store-fails");
    (1..=5).for_each(|second| test.tick(second));
    let (whole, parts) = (test.root(MANY), test.root(1_000));
    for (fault, root) in
        [(Fault::Put, &whole), (Fault::Part(1), &parts), (Fault::Part(3), &parts), (Fault::Complete, &parts)]
    {
        test.store.set(fault);
        let error = test.export(root).unwrap_err();
        let want = format!("test://bucket/{PREFIX}/{FOLDER}/c6274b68-000000.parquet: the disk is full");
        assert_eq!(error, want, "{fault:?}");
        assert!(test.objects().is_empty(), "{fault:?}");
    }
    assert_eq!(test.store.aborts.load(Relaxed), 3);
    test.store.set(Fault::No);
    assert_eq!(test.export(&parts).unwrap().rows, 5);
    assert_eq!(test.objects().len(), 1);
}

#[test]
fn a_store_that_never_answers_ends_in_an_error() {
    let mut test = StoreTest::new("store-silent");
    test.tick(1);
    test.store.set(Fault::Silent);
    let begin = Instant::now();
    let error = test.export(&test.root(MANY)).unwrap_err();
    assert_eq!(error, format!("test://bucket/{PREFIX}/{FOLDER}: no answer within 0.3 s"));
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
}

#[test]
fn nothing_is_overwritten() {
    let mut test = StoreTest::new("store-taken");
    test.tick(1);
    let root = test.root(MANY);
    // The answer to the first request was lost, and the second one was refused.
    test.store.set(Fault::LostAnswer);
    assert_eq!(test.export(&root).unwrap().rows, 1);
    test.tick(2);
    // Another export wrote the same name after this one looked.
    for part in [MANY, 1_000] {
        let mut place = test.root(part).open("web1", Duration::from_secs(9)).unwrap();
        place.exported(FOLDER).unwrap();
        let path = format!("{FOLDER}/c6274b68-000001.parquet");
        test.put(&format!("{PREFIX}/{path}"), b"of another".to_vec());
        let mut pending = place.create(&path).unwrap();
        std::io::Write::write_all(&mut pending.file, &[7; 3_000]).unwrap();
        let error = place.keep(pending, &path).unwrap_err().to_string();
        assert!(error.ends_with("another export wrote it at the same time"), "{error}");
        assert_eq!(test.objects()[&format!("{PREFIX}/{path}")], b"of another");
        test.wait(test.store.inner.delete(&Location::parse(format!("{PREFIX}/{path}")).unwrap())).unwrap();
    }
    test.store.set(Fault::No);
    assert_eq!(test.export(&root).unwrap().rows, 1);
    assert_eq!(test.objects().len(), 2);
}

#[test]
fn a_cut_or_changed_object_stops_the_export_and_is_named() {
    let mut test = StoreTest::new("store-cut");
    test.tick(1);
    let root = test.root(MANY);
    test.export(&root).unwrap();
    test.tick(2);
    let (at, bytes) = test.objects().pop_first().unwrap();
    let url = format!("test://bucket/{at}");
    for length in (0..bytes.len()).step_by(61).chain(bytes.len() - 12..bytes.len()) {
        test.put(&at, bytes[..length].to_vec());
        let error = test.export(&root).unwrap_err();
        assert!(error.starts_with(&url), "{length}: {error}");
        assert_eq!(test.objects().len(), 1, "{length}");
    }
    // The length of the footer and the mark after it. A changed footer is an error or is readable.
    for position in (bytes.len() - 300..bytes.len()).step_by(7).chain(bytes.len() - 8..bytes.len()) {
        for bit in [0, 7] {
            let mut changed = bytes.clone();
            changed[position] ^= 1 << bit;
            test.put(&at, changed);
            let is_of_end = position >= bytes.len() - 8;
            match test.export(&root) {
                Err(error) => assert!(error.starts_with(&url), "{error}"),
                Ok(_) => assert!(!is_of_end, "{position} {bit}"),
            }
            for extra in test.objects().keys().filter(|other| **other != at) {
                test.wait(test.store.inner.delete(&Location::parse(extra).unwrap())).unwrap();
            }
        }
    }
    test.put(&at, bytes);
    assert_eq!(test.export(&root).unwrap().rows, 1);
}

#[test]
fn a_large_footer_is_read_with_a_second_request() {
    let test = StoreTest::new("store-footer");
    let path = test.scratch.0.join("large.parquet");
    let facts = |facts: &[(&str, String)]| {
        let schema =
            parquet::schema::parser::parse_message_type("message schema { REQUIRED INT32 a; }").unwrap();
        let file = File::create(&path).unwrap();
        let mut writer =
            parquet::file::writer::SerializedFileWriter::new(file, Arc::new(schema), Arc::default()).unwrap();
        for (key, value) in facts {
            let value = parquet::file::metadata::KeyValue::new((*key).to_owned(), value.clone());
            writer.append_key_value_metadata(value);
        }
        writer.close().unwrap();
        fs::read(&path).unwrap()
    };
    let own = [
        ("perfset.run", "r".to_owned()),
        ("perfset.first", "1".to_owned()),
        ("perfset.last", "5".to_owned()),
    ];
    let filler = [("x", "y".repeat(200_000))];
    test.put(&format!("{PREFIX}/{FOLDER}/own.parquet"), facts(&[&own[..], &filler].concat()));
    test.put(&format!("{PREFIX}/{FOLDER}/other.parquet"), facts(&filler));
    let mut place = test.root(MANY).open("web1", Duration::from_secs(9)).unwrap();
    let ranges = place.exported(FOLDER).unwrap();
    assert!(ranges.len() == 1 && (ranges[0].first, ranges[0].last) == (1, 5), "{ranges:?}");
    assert_eq!(test.store.reads.load(Relaxed), 4);
}
