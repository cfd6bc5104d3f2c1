//! Object stores of exported files: each object is complete or absent, and every request ends.

use std::collections::{HashMap, HashSet};
use std::env;
use std::error::Error;
use std::fmt::Write;
use std::fs::{self, File};
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use object_store::path::Path as Location;
use object_store::{
    Error as StoreError, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
    PutPayload,
};
use parquet::file::metadata::{FooterTail, ParquetMetaDataReader};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::ParquetExportError;
#[cfg(feature = "object-store")]
use crate::error::RootError;
use crate::place::{ExportPlace, PendingFile, TemporaryPath};
use crate::range::ExportedRange;

/// Size in bytes of a part of an upload. Object stores allow at least 5 MiB; such a part takes half a minute at 280
/// kB/s.
#[cfg(feature = "object-store")]
const PART: u64 = 8 << 20;
/// Maximum number of parts of an upload; object stores allow 10,000.
const MOST_PARTS: u64 = 9_000;
/// Number of bytes that are read at the end of an object, enough for almost every Parquet footer.
const TAIL: u64 = 64 << 10;
/// Maximum length in bytes of a Parquet footer that is read.
const MOST_FOOTER: u64 = 64 << 20;
/// Length in bytes of the end of a Parquet file that contains the length of the footer.
const END: u64 = 8;
/// Maximum time of the request that an object store discard a failed upload.
const ABORT: Duration = Duration::from_secs(5);
/// Maximum number of objects whose range of samples is remembered from one export to the next.
const REMEMBERED: usize = 20_000;

/// Root address of exported files in an object store, such as `s3://bucket/lake`.
#[derive(Clone, Debug)]
pub(crate) struct StoreRoot {
    kind: StoreKind,
    bucket: String,
    prefix: String,
    /// Size in bytes of a part of an upload. A larger file is uploaded in parts.
    part: u64,
    seen: SeenObjects,
}

/// Objects whose Parquet footers were read, by location in the object store. An object that was replaced since has
/// another size or tag.
type SeenObjects = Arc<Mutex<HashMap<Location, (ObjectMeta, Option<ExportedRange>)>>>;

#[derive(Clone, Debug)]
enum StoreKind {
    #[cfg(feature = "object-store")]
    Cloud(Cloud),
    #[cfg(test)]
    Given(Arc<dyn ObjectStore>),
}

/// Public cloud whose object store is used.
#[cfg(feature = "object-store")]
#[derive(Clone, Copy, Debug)]
enum Cloud {
    Amazon,
    Azure,
    Google,
}

impl StoreRoot {
    /// Parses a root address in an object store: `BUCKET` or `BUCKET/PREFIX` after `scheme://`.
    #[cfg(feature = "object-store")]
    pub fn parse(scheme: &str, rest: &str) -> Result<Self, RootError> {
        let kind = match scheme {
            "s3" => StoreKind::Cloud(Cloud::Amazon),
            "az" => StoreKind::Cloud(Cloud::Azure),
            "gs" => StoreKind::Cloud(Cloud::Google),
            _ => return Err(RootError::Scheme(scheme.to_owned())),
        };
        // The rest of a wrong address is not repeated, because it can have a key or a signature.
        let wrong = |text: &str| RootError::Address(format!("{scheme}://BUCKET/PREFIX is expected: {text}"));
        if rest.contains(['@', '?', '#']) {
            return Err(wrong("no user, key or query; credentials are read from the environment"));
        }
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let is_name = |c: u8| c.is_ascii_alphanumeric() || b"-_.$".contains(&c);
        if bucket.is_empty() || !bucket.bytes().all(is_name) {
            return Err(wrong("the name of a bucket has letters, digits, '-', '_' and '.'"));
        }
        let prefix = prefix.trim_end_matches('/');
        // `parse` removes one `/`.
        let parsed = Location::parse(prefix).ok().filter(|_| !prefix.starts_with('/'));
        let prefix = parsed.ok_or_else(|| wrong("no part of the prefix is empty, . or .."))?;
        let (bucket, prefix, seen) = (bucket.to_owned(), prefix.to_string(), SeenObjects::default());
        Ok(Self { kind, bucket, prefix, part: PART, seen })
    }

    #[cfg(test)]
    pub fn given(store: Arc<dyn ObjectStore>, prefix: &str, part: u64) -> Self {
        let (bucket, prefix, seen) = ("bucket".to_owned(), prefix.to_owned(), SeenObjects::default());
        Self { kind: StoreKind::Given(store), bucket, prefix, part, seen }
    }

    /// Returns the root address in the object store, without `/` at its end.
    fn address(&self) -> String {
        let scheme = match self.kind {
            #[cfg(feature = "object-store")]
            StoreKind::Cloud(Cloud::Amazon) => "s3",
            #[cfg(feature = "object-store")]
            StoreKind::Cloud(Cloud::Azure) => "az",
            #[cfg(feature = "object-store")]
            StoreKind::Cloud(Cloud::Google) => "gs",
            #[cfg(test)]
            StoreKind::Given(_) => "test",
        };
        let address = format!("{scheme}://{}/{}", self.bucket, self.prefix);
        address.trim_end_matches('/').to_owned()
    }

    /// Opens the object store with the credentials and settings of the environment, without sending a request.
    pub fn open(&self, deadline: Duration) -> Result<StorePlace, ParquetExportError> {
        let failed = |reason: String| ParquetExportError::Store { url: self.address(), reason };
        if Handle::try_current().is_ok() {
            // Waiting here would hold up what else this thread does.
            return Err(failed("export from a thread without asynchronous code".to_owned()));
        }
        let store = self.store().map_err(|error| failed(reason(&error)))?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| failed(error.to_string()))?;
        let names = HashSet::new();
        Ok(StorePlace { root: self.clone(), store, runtime: Some(runtime), deadline, names })
    }

    fn store(&self) -> object_store::Result<Arc<dyn ObjectStore>> {
        match &self.kind {
            #[cfg(feature = "object-store")]
            StoreKind::Cloud(cloud) => cloud.store(&self.bucket),
            #[cfg(test)]
            StoreKind::Given(store) => Ok(Arc::clone(store)),
        }
    }
}

#[cfg(feature = "object-store")]
impl Cloud {
    /// Returns the object store client of a bucket, with the settings of the environment.
    fn store(self, bucket: &str) -> object_store::Result<Arc<dyn ObjectStore>> {
        use object_store::aws::AmazonS3Builder;
        use object_store::azure::MicrosoftAzureBuilder;
        use object_store::gcp::GoogleCloudStorageBuilder;

        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // It fails only if another thread was first.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let retry_timeout = Duration::from_secs(60);
        let retry = object_store::RetryConfig { max_retries: 6, retry_timeout, ..Default::default() };
        Ok(match self {
            Self::Amazon => {
                let store = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
                Arc::new(store.build()?)
            }
            Self::Azure => {
                let store = MicrosoftAzureBuilder::from_env().with_container_name(bucket).with_retry(retry);
                Arc::new(store.build()?)
            }
            Self::Google => {
                let store = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(retry);
                Arc::new(store.build()?)
            }
        })
    }
}

/// Object store that exported files are uploaded to.
pub(crate) struct StorePlace {
    root: StoreRoot,
    store: Arc<dyn ObjectStore>,
    /// Runtime that runs requests to the object store; `None` only while this value is dropped.
    runtime: Option<Runtime>,
    deadline: Duration,
    /// Paths below the root of the objects that exist.
    names: HashSet<String>,
}

impl Drop for StorePlace {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // A thread that waits for an answer about a name must not hold up the end.
            runtime.shutdown_background();
        }
    }
}

impl StorePlace {
    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.root.address())
    }

    fn failed(&self, path: &str, reason: impl Into<String>) -> ParquetExportError {
        ParquetExportError::Store { url: self.url(path), reason: reason.into() }
    }

    /// Returns the location in the object store of a path below the root.
    fn location(&self, path: &str) -> Result<Location, ParquetExportError> {
        let prefix = &self.root.prefix;
        let whole = if prefix.is_empty() { path.to_owned() } else { format!("{prefix}/{path}") };
        Location::parse(whole).map_err(|error| self.failed(path, error.to_string()))
    }

    /// Runs a request to the object store, and waits for its response until the deadline.
    fn ask<T>(&self, asked: impl Future<Output = object_store::Result<T>>) -> Result<T, Unanswered> {
        self.ask_within(self.deadline, asked)
    }

    fn ask_within<T>(
        &self,
        deadline: Duration,
        asked: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Unanswered> {
        let Some(runtime) = &self.runtime else { return Err(Unanswered::Late(deadline)) };
        let limited = async { tokio::time::timeout(deadline, asked).await };
        match runtime.block_on(limited) {
            Ok(answer) => answer.map_err(Unanswered::Refused),
            Err(_) => Err(Unanswered::Late(deadline)),
        }
    }

    /// Reads the last bytes of an object.
    fn tail(&self, object: &ObjectMeta, length: u64, path: &str) -> Result<Vec<u8>, ParquetExportError> {
        let begin = object.size.saturating_sub(length);
        let read = self.ask(self.store.get_range(&object.location, begin..object.size));
        let bytes = read.map_err(|error| self.failed(path, error.text()))?;
        match u64::try_from(bytes.len()) == Ok(object.size.saturating_sub(begin)) {
            true => Ok(bytes.into()),
            false => Err(self.failed(path, "the store sent fewer bytes than the object has")),
        }
    }

    /// Returns the range of samples that an object has, from its Parquet footer; its other bytes are not read.
    fn range(&self, object: &ObjectMeta, path: &str) -> Result<Option<ExportedRange>, ParquetExportError> {
        if object.size < END {
            return Err(self.failed(path, format!("it is cut: it has {} bytes", object.size)));
        }
        let url = PathBuf::from(self.url(path));
        let mut tail = self.tail(object, TAIL, path)?;
        let end = tail.last_chunk().ok_or_else(|| self.failed(path, "it is cut"))?;
        let end = FooterTail::try_new(end).map_err(ParquetExportError::parquet(&url))?;
        let length = u64::try_from(end.metadata_length()).unwrap_or(u64::MAX);
        let whole = length.saturating_add(END);
        if length > MOST_FOOTER || whole > object.size {
            return Err(
                self.failed(path, format!("it is cut or damaged: its footer would have {length} bytes"))
            );
        }
        if whole > TAIL {
            tail = self.tail(object, whole, path)?;
        }
        let at = |from_end: u64| usize::try_from(from_end).ok().and_then(|back| tail.len().checked_sub(back));
        let footer = at(whole).zip(at(END)).and_then(|(begin, end)| tail.get(begin..end)).unwrap_or_default();
        let metadata = ParquetMetaDataReader::decode_metadata(footer);
        Ok(ExportedRange::of(&metadata.map_err(ParquetExportError::parquet(&url))?))
    }

    /// Returns the range of samples that an object has; its Parquet footer is read unless it is known.
    fn seen_range(
        &self,
        object: &ObjectMeta,
        path: &str,
    ) -> Result<Option<ExportedRange>, ParquetExportError> {
        let seen = || self.root.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |known: &ObjectMeta| {
            (known.size, &known.e_tag, known.last_modified)
                == (object.size, &object.e_tag, object.last_modified)
        };
        if let Some((_, range)) = seen().get(&object.location).filter(|(known, _)| is_same(known)) {
            return Ok(range.clone());
        }
        let range = self.range(object, path)?;
        let mut seen = seen();
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert(object.location.clone(), (object.clone(), range.clone()));
        Ok(range)
    }

    /// Returns `true` if the object at a location has the end of this file: its first upload succeeded, and the
    /// response was lost.
    fn is_own(&self, file: &mut File, size: u64, location: &Location) -> bool {
        let object = self.ask(self.store.head(location)).ok().filter(|object| object.size == size);
        let theirs = object.and_then(|object| self.tail(&object, TAIL, "").ok());
        let mut ours = Vec::new();
        let begin = SeekFrom::Start(size.saturating_sub(TAIL));
        let read = file.seek(begin).and_then(|_| file.read_to_end(&mut ours));
        // The footer names the samples, and has the sizes and bounds of all columns.
        read.is_ok() && theirs.is_some_and(|theirs| theirs == ours)
    }

    /// Uploads a file to the object store with one request, unless an object has its name.
    fn put(&self, file: &mut File, location: &Location) -> Result<(), UploadError> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let payload = PutPayload::from(bytes);
        let put = |mode| self.ask(self.store.put_opts(location, payload.clone(), PutOptions::from(mode)));
        match put(PutMode::Create) {
            // The user has said that the store has no such condition.
            Err(Unanswered::Refused(StoreError::NotImplemented { .. })) => {
                self.refuse_taken(location)?;
                put(PutMode::Overwrite)?
            }
            done => done?,
        };
        Ok(())
    }

    /// Uploads a file to the object store in parts. The object exists once all parts are uploaded.
    fn put_parts(&self, file: &mut File, size: u64, location: &Location) -> Result<(), UploadError> {
        self.refuse_taken(location)?;
        let mut upload = self.ask(self.store.put_multipart_opts(location, Default::default()))?;
        let uploaded = self.parts(file, size, location, &mut *upload);
        if uploaded.is_err() {
            // Stores keep, and charge for, parts of uploads that do not end.
            let _ = self.ask_within(ABORT, upload.abort());
        }
        uploaded
    }

    fn parts(
        &self,
        file: &mut File,
        size: u64,
        location: &Location,
        upload: &mut dyn MultipartUpload,
    ) -> Result<(), UploadError> {
        let part = self.root.part.max(size.div_ceil(MOST_PARTS));
        let mut left = size;
        while left > 0 {
            let mut bytes = Vec::new();
            let read = u64::try_from(file.take(part).read_to_end(&mut bytes)?).unwrap_or(u64::MAX);
            if read == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            self.ask(upload.put_part(bytes.into()))?;
            left = left.saturating_sub(read);
        }
        // The end of an upload has no condition. What another export wrote meanwhile stays.
        self.refuse_taken(location)?;
        self.ask(upload.complete())?;
        Ok(())
    }

    fn refuse_taken(&self, location: &Location) -> Result<(), UploadError> {
        match self.ask(self.store.head(location)) {
            Ok(_) => Err(UploadError::Taken),
            Err(Unanswered::Refused(StoreError::NotFound { .. })) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl ExportPlace for StorePlace {
    fn exported(&mut self, folder: &str) -> Result<Vec<ExportedRange>, ParquetExportError> {
        let prefix = self.location(folder)?;
        let listed = self.ask(self.store.list_with_delimiter(Some(&prefix)));
        let listed = listed.map_err(|error| self.failed(folder, error.text()))?;
        let mut ranges = Vec::new();
        for object in listed.objects {
            let Some(name) = object.location.filename() else { continue };
            let path = format!("{folder}/{name}");
            if name.ends_with(".parquet") {
                ranges.extend(self.seen_range(&object, &path)?);
            }
            self.names.insert(path);
        }
        Ok(ranges)
    }

    fn exists(&self, path: &str) -> bool {
        self.names.contains(path)
    }

    fn create(&mut self, _: &str) -> Result<PendingFile, ParquetExportError> {
        temporary_file()
    }

    fn keep(&mut self, pending: PendingFile, path: &str) -> Result<PathBuf, ParquetExportError> {
        let PendingFile { mut file, temporary } = pending;
        let failed = |error| ParquetExportError::io(&temporary.path)(error);
        let location = self.location(path)?;
        let size =
            file.seek(SeekFrom::End(0)).and_then(|size| file.rewind().map(|()| size)).map_err(failed)?;
        let uploaded = match size <= self.root.part {
            true => self.put(&mut file, &location),
            false => self.put_parts(&mut file, size, &location),
        };
        match uploaded {
            Ok(()) => {}
            Err(UploadError::Taken) if self.is_own(&mut file, size, &location) => {}
            Err(UploadError::Taken) => {
                return Err(self.failed(path, "another export wrote it at the same time"));
            }
            Err(UploadError::File(error)) => return Err(failed(error)),
            Err(UploadError::Store(error)) => return Err(self.failed(path, error.text())),
        }
        self.names.insert(path.to_owned());
        Ok(PathBuf::from(self.url(path)))
    }
}

/// Failed request to an object store: refused, or without a response.
enum Unanswered {
    Refused(StoreError),
    /// No response within this time.
    Late(Duration),
}

impl Unanswered {
    fn text(&self) -> String {
        match self {
            Self::Refused(error) => reason(error),
            Self::Late(after) => format!("no answer within {} s", after.as_secs_f64()),
        }
    }
}

/// Reason that a file was not uploaded to the object store.
enum UploadError {
    File(io::Error),
    Store(Unanswered),
    /// Name that another object already has.
    Taken,
}

impl From<io::Error> for UploadError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<Unanswered> for UploadError {
    fn from(error: Unanswered) -> Self {
        match error {
            Unanswered::Refused(StoreError::AlreadyExists { .. }) => Self::Taken,
            error => Self::Store(error),
        }
    }
}

/// Creates a file for its owner alone in the system's directory for temporary files. On Unix the file has no name, so
/// that nothing is left of it, however this process ends.
fn temporary_file() -> Result<PendingFile, ParquetExportError> {
    /// Number of attempts to find a free name for the temporary file, because another user can have taken a name.
    const ATTEMPTS: u32 = 16;
    let folder = env::temp_dir();
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for attempt in 0..ATTEMPTS {
        let number = RandomState::new().hash_one(attempt);
        let path = folder.join(format!("perfset-export-{number:016x}.tmp"));
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => {
                let is_gone = cfg!(unix) && fs::remove_file(&path).is_ok();
                return Ok(PendingFile { file, temporary: TemporaryPath { path, is_gone } });
            }
            Err(error) => last = error,
        }
    }
    Err(ParquetExportError::io(&folder)(last))
}

/// Returns the reason of an object store's error in one sentence, without credentials and without the address.
fn reason(error: &StoreError) -> String {
    let said = match error {
        StoreError::NotFound { .. } => "not found",
        StoreError::PermissionDenied { .. } => "permission denied",
        StoreError::Unauthenticated { .. } => "the store does not accept the credentials",
        StoreError::AlreadyExists { .. } => "it exists",
        _ => "",
    };
    // Errors around the innermost one repeat it, with addresses and numbers of attempts.
    let mut innermost: &dyn Error = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    let text = innermost.to_string();
    let detail = match (element(&text, "Code"), element(&text, "Message")) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ => text,
    };
    let mut whole = redacted(&detail, &secrets());
    if !said.is_empty() {
        whole = format!("{said}: {whole}");
    }
    shortened(&whole)
}

/// Returns the text of an XML element in an object store's error response.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (inner, _) = rest.split_once(&format!("</{name}>"))?;
    Some(inner.trim())
}

/// Returns the values of the environment variables that can contain credentials.
fn secrets() -> Vec<String> {
    /// Minimum length of a variable's value that is treated as a secret, so that no error loses a word such as
    /// `true`.
    const SHORTEST: usize = 8;
    let is_of_store = |name: &str| ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|start| name.starts_with(start));
    let is_secret = |name: &str| {
        ["KEY", "TOKEN", "SECRET", "SAS", "PASSWORD", "CREDENTIAL"].iter().any(|part| name.contains(part))
    };
    let variables = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let wanted =
        variables.filter(|(name, value)| is_of_store(name) && is_secret(name) && value.len() >= SHORTEST);
    wanted.map(|(_, value)| value).collect()
}

/// Returns an error text without secrets, and without the query parts of URLs, which can have signatures.
fn redacted(text: &str, secrets: &[String]) -> String {
    let text = secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "..."));
    let words = text.split_whitespace().map(|word| match word.split_once('?') {
        Some((address, _)) if address.contains("://") => format!("{address}?..."),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the beginning of an error text that an object store's server sent.
fn shortened(text: &str) -> String {
    const MOST: usize = 400;
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        let _ = write!(short, "...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "object-store")]
    #[test]
    fn addresses() {
        let address = |scheme: &str, rest: &str| StoreRoot::parse(scheme, rest).map(|root| root.address());
        for (scheme, rest, want) in [
            ("s3", "bucket", "s3://bucket"),
            ("s3", "bucket/", "s3://bucket"),
            ("az", "my-container/a/b c/", "az://my-container/a/b c"),
            ("gs", "x.example.org/lake%20", "gs://x.example.org/lake%20"),
        ] {
            assert_eq!(address(scheme, rest).as_deref(), Ok(want));
        }
        for bad in
            ["", "/x", "a b", "b//x", "b/../x", "b/x\u{7}", "key:secret@b/x", "b/x?sig=secret", "b/x#secret"]
        {
            let error = address("s3", bad).unwrap_err().to_string();
            assert!(error.starts_with("s3://BUCKET/PREFIX") && !error.contains("secret"), "{bad}: {error}");
        }
        assert!(StoreRoot::parse("http", "x").is_err());
    }

    #[test]
    fn errors_have_the_reason_and_no_credentials() {
        let error = |text: &str| {
            let source = io::Error::other(text.to_owned());
            reason(&StoreError::PermissionDenied { path: "x".to_owned(), source: source.into() })
        };
        let xml =
            "403 Forbidden: <?xml?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
        assert_eq!(error(xml), "permission denied: AccessDenied: Access Denied");
        assert!(error(&"x".repeat(9_999)).len() < 500);
        let secrets = ["s3cr3t/key".to_owned()];
        let text = "PUT https://a.example/b?sig=abc with s3cr3t/key failed";
        assert_eq!(redacted(text, &secrets), "PUT https://a.example/b?... with ... failed");
    }

    #[test]
    fn temporary_files_are_private_and_leave_nothing() {
        let PendingFile { mut file, temporary } = temporary_file().unwrap();
        io::Write::write_all(&mut file, b"text").unwrap();
        let path = temporary.path.clone();
        assert_eq!(path.exists(), cfg!(windows));
        drop((file, temporary));
        assert!(!path.exists());
    }
}
