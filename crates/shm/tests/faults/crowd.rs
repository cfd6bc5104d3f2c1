//! Tests of directories and files with which another user fills `/tmp`, to delay readers or to hide programs from
//! them.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use perfset_core::Text;
use perfset_engine::Provider;

use super::Honest;
use crate::Folders;
use crate::publish::Publisher;
use crate::read::ApplicationProvider;
use crate::tests::Place;

const OTHER: u32 = 65_534;

/// Creates directories of the other user, with an empty file of that user in each.
fn crowd(tmp: &Path, count: usize) -> Vec<PathBuf> {
    let one = |number: usize| {
        let path = tmp.join(format!("perfset-{OTHER}.{number:016x}"));
        std::fs::create_dir(&path).unwrap();
        let file = path.join("1-0.pfs");
        std::fs::write(&file, "").unwrap();
        [&file, &path].into_iter().for_each(|path| chown(path, Some(OTHER), Some(OTHER)).unwrap());
        path
    };
    (0..count).map(one).collect()
}

fn tree(name: &str) -> Option<(Place, PathBuf)> {
    if rustix::process::geteuid().as_raw() != 0 {
        return None; // only root can make files of two users
    }
    let place = Place::new(name);
    let tmp = place.path().join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    Some((place, tmp))
}

fn spare(tmp: &Path, number: usize) -> PathBuf {
    use std::os::unix::fs::DirBuilderExt;
    let path = tmp.join(format!("perfset-0.{number:016x}"));
    std::fs::DirBuilder::new().mode(0o700).create(&path).unwrap();
    path
}

fn reader(place: &Place) -> ApplicationProvider {
    ApplicationProvider::new(&Folders::below(place.path(), 0), true, Box::new(|| None))
}

fn is_shown(reader: &mut ApplicationProvider) -> bool {
    reader.catalogue().unwrap().countersets.iter().any(|set| set.guid == Honest::GUID)
}

/// Checks that thousands of directories whose files come and go cost a collection as little as none.
#[test]
fn a_crowd_of_directories_delays_nothing() {
    let Some((place, tmp)) = tree("crowd") else { return };
    let publisher = Publisher::in_folders(Folders::only(spare(&tmp, 7)));
    let _instance = publisher.instance::<Honest>("honest");
    let all = crowd(&tmp, 3000);
    let mut reader = reader(&place);
    let start = Instant::now();
    assert!(is_shown(&mut reader));
    for round in 0..5 {
        for path in &all {
            std::fs::write(path.join(format!("{round}-1.pfs")), "").unwrap();
        }
        assert!(is_shown(&mut reader));
    }
    let own = Instant::now(); // the writes above take part of the time
    for _ in 0..20 {
        assert!(is_shown(&mut reader));
    }
    let (whole, quiet) = (start.elapsed(), own.elapsed());
    assert!(quiet < Duration::from_millis(300), "{quiet:?} of {whole:?}");
}

/// Checks that a user who takes the name of root's directory and makes many others hides no file of root, and is
/// reported.
#[test]
fn a_crowd_of_directories_hides_nothing() {
    let Some((place, tmp)) = tree("hiding") else { return };
    let own: Vec<PathBuf> = (0..40).map(|number| spare(&tmp, number)).collect();
    let all = crowd(&tmp, 5000);
    let usual = tmp.join("perfset-0");
    std::fs::create_dir(&usual).unwrap();
    chown(&usual, Some(OTHER), None).unwrap();
    let mut reader = reader(&place);
    // 5,000 entries are examined at once, and the rest by later calls.
    let found = Folders::below(place.path(), 0).to_read(true);
    let is_found = |path: &&PathBuf| found.to_read.iter().any(|folder| folder.path == **path);
    assert_eq!(own.iter().filter(is_found).count(), own.len());
    // The file of the last one: the others have none.
    let publisher = Publisher::in_folders(Folders::only(&own[39]));
    let _instance = publisher.instance::<Honest>("honest");
    let start = Instant::now();
    assert!(is_shown(&mut reader));
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    // Listing all of them may take longer than the first collection has time for.
    let is_reported = |problems: Vec<Text>| {
        let name = tmp.join(format!("perfset-{OTHER}")).display().to_string();
        problems.iter().any(|text| text.starts_with(&name) && text.contains("are left out: at most 4"))
    };
    let mut wait = 0..200;
    while !is_reported(reader.problems()) {
        assert!(wait.next().is_some(), "{:?}", reader.problems());
        std::thread::sleep(Duration::from_millis(50));
        assert!(is_shown(&mut reader));
    }
    let of_other = |folders: Vec<crate::folder::SearchDir>| {
        folders.iter().filter(|folder| all.contains(&folder.path)).count()
    };
    assert!(of_other(Folders::below(place.path(), 0).to_read(true).to_read) <= 4);
}

/// Checks that files of another user in a directory named like root's do not delay root.
#[test]
fn files_in_a_directory_that_is_taken_delay_nothing() {
    let Some((place, tmp)) = tree("taken-by-other") else { return };
    let publisher = Publisher::in_folders(Folders::only(spare(&tmp, 7)));
    let _instance = publisher.instance::<Honest>("honest");
    let usual = tmp.join("perfset-0");
    std::fs::create_dir(&usual).unwrap();
    chown(&usual, Some(OTHER), None).unwrap();
    for number in 0..4000 {
        let path = usual.join(format!("1-{number:016x}.pfs"));
        std::fs::write(&path, "").unwrap();
        chown(&path, Some(OTHER), None).unwrap();
    }
    let mut reader = reader(&place);
    let start = Instant::now();
    for round in 0..20 {
        std::fs::write(usual.join(format!("2-{round}.pfs")), "").unwrap();
        assert!(is_shown(&mut reader));
    }
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
}
