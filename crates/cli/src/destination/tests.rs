use std::fs;

use super::*;

#[test]
fn devices_of_windows() {
    for name in
        ["NUL", "nul", "NUL.txt", r"C:\a\con", "a/Prn ", "COM1", "lpt²", "CONOUT$", r"\\.\pipe\x", "//./y"]
    {
        assert!(is_device_of_windows(name), "{name}");
    }
    for name in
        ["", "-", "NULL", "nul1", "a.nul", "COM", "COM10", "COMA.d/x", r"\\host\share", "con/x", "/dev/null"]
    {
        assert!(!is_device_of_windows(name), "{name}");
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use rustix::fs::{
        AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid, chownat, mkfifoat, open, renameat_with,
    };

    use super::*;

    /// Directory of a test's files, some of which belong to another user. Only root can give files away; a test that
    /// runs as another user pretends that its own files are those of another user.
    struct Others {
        folder: PathBuf,
        is_root: bool,
    }

    impl Others {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("perfset-{name}-{}", std::process::id()));
            fs::create_dir(&folder).unwrap();
            let folder = folder.canonicalize().unwrap();
            Self { folder, is_root: rustix::process::geteuid().is_root() }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.join(name)
        }

        /// Changes the owner of a file, or of a link itself, to another user; does nothing unless the test runs as
        /// root.
        fn give_away(&self, name: &str) -> PathBuf {
            let path = self.path(name);
            if self.is_root {
                let (user, group) = (Uid::from_raw(65_534), Gid::from_raw(65_534));
                chownat(CWD, &path, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW).unwrap();
            }
            path
        }

        /// Returns trusted users that do not include the owner of the files which the test gave away.
        fn stranger(&self) -> Trusted {
            let me = rustix::process::geteuid().as_raw();
            Trusted::user(if self.is_root { me } else { me.wrapping_add(1) })
        }

        fn names(&self, folder: &str) -> Vec<String> {
            let names = fs::read_dir(self.path(folder)).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Others {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.folder); // the system clears what is left
        }
    }

    fn written(file: &Path, trusted: Trusted, text: &str) -> Result<(), Failure> {
        let destination = Destination::with_trusted(file, trusted)?;
        destination.check()?;
        let mut writer = destination.open()?;
        writer.write_all(text.as_bytes()).unwrap();
        writer.flush().unwrap();
        drop(writer);
        destination.keep()
    }

    #[test]
    fn pipe_is_written_by_its_path() {
        let (mut reader, writer) = io::pipe().unwrap();
        let name = format!("/proc/self/fd/{}", writer.as_raw_fd());
        written(Path::new(&name), Trusted::current(), "text").unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(&mut reader).unwrap(), "text");
        // And what cannot be written is called what it was called.
        let others = Others::new("destination-link");
        symlink("no/such/folder", others.path("link")).unwrap();
        let error = Destination::new(&others.path("link")).unwrap_err().error;
        assert_eq!(error.to_string(), format!("cannot write {}", others.path("link").display()));
    }

    #[test]
    fn own_links_stay() {
        let others = Others::new("destination-own");
        symlink("nowhere", others.path("dangling")).unwrap();
        symlink(others.path("dangling"), others.path("other")).unwrap();
        fs::create_dir(others.path("folder")).unwrap();
        symlink("folder/../folder/.", others.path("way")).unwrap();
        let me = Trusted::current();
        written(&others.path("other"), me, "text").unwrap();
        written(&others.path("way//x"), me, "text").unwrap();
        assert!(["dangling", "other", "way"].iter().all(|link| fs::read_link(others.path(link)).is_ok()));
        assert_eq!(fs::read(others.path("nowhere")).unwrap(), b"text");
        assert_eq!(fs::read(others.path("folder/x")).unwrap(), b"text");
        assert_eq!(others.names(""), ["dangling", "folder", "nowhere", "other", "way"]);
        assert_eq!(others.names("folder"), ["x"]);
        symlink("round", others.path("round")).unwrap();
        for (name, why) in [
            ("round", "Too many levels"),
            ("folder", "Is a directory"),
            ("folder/", "Is a directory"),
            ("folder/..", "Is a directory"),
            ("nowhere/x", "Not a directory"),
            ("no/x", "No such file"),
        ] {
            let error = Destination::with_trusted(&others.path(name), me).unwrap_err().error;
            assert!(format!("{error:#}").contains(why), "{name}: {error:#}");
        }
        assert!(Destination::with_trusted(Path::new(""), me).is_err());
    }

    #[test]
    fn links_of_others_are_not_followed() {
        let others = Others::new("destination-others");
        for folder in ["safe", "shared"] {
            fs::create_dir(others.path(folder)).unwrap();
        }
        fs::set_permissions(others.path("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
        fs::write(others.path("safe/old"), "old").unwrap();
        let safe = others.path("safe");
        for (name, target) in [
            ("shared/new", safe.join("new")),
            ("shared/old", safe.join("old")),
            ("shared/relative", "../safe/new".into()),
            ("shared/folder", safe.clone()),
            ("shared/null", "/dev/null".into()),
            ("shared/stdout", "/proc/self/fd/1".into()),
        ] {
            symlink(target, others.path(name)).unwrap();
            others.give_away(name);
        }
        // A link of one's own does not help.
        symlink("shared/new", others.path("own")).unwrap();
        if others.is_root {
            assert_eq!(fs::symlink_metadata(others.path("own")).unwrap().uid(), 0);
        }
        for name in [
            "shared/new",
            "shared/old",
            "shared/relative",
            "shared/folder/new",
            "shared/folder/old",
            "shared/folder/../shared/new",
            "shared/null",
            "shared/stdout",
            "own",
        ] {
            let error = written(&others.path(name), others.stranger(), "text").unwrap_err().error;
            let error = format!("{error:#}");
            assert!(error.contains("is a symbolic link of another user (uid "), "{name}: {error}");
        }
        assert_eq!(others.names("safe"), ["old"]);
        assert_eq!(fs::read(others.path("safe/old")).unwrap(), b"old");
        assert_eq!(others.names("shared"), ["folder", "new", "null", "old", "relative", "stdout"]);
        let folder = find_error(place::find_new_folder(&others.path("shared/folder/x/"), others.stranger()));
        assert!(folder.contains("is a symbolic link of another user"), "{folder}");
        let folder = find_error(place::check_links(&others.path("shared/folder"), others.stranger()));
        assert!(folder.contains("is a symbolic link of another user"), "{folder}");
        assert!(place::check_links(&others.path("safe"), others.stranger()).is_ok());
        assert!(place::check_links(&others.path("no/such"), others.stranger()).is_ok());
    }

    /// Checks that links of the kernel and the system are followed in a user namespace, where these links belong to a
    /// user without a uid.
    #[test]
    fn links_of_the_system_in_a_user_namespace() {
        let others = Others::new("destination-namespace");
        symlink("/proc/self/fd/1", others.path("stdout")).unwrap();
        others.give_away("stdout");
        let owner = fs::symlink_metadata(others.path("stdout")).unwrap().uid();
        // As the owner of /dev and /proc has none, nor has the owner of the link above.
        for unmapped in [owner, 0] {
            let trusted = Trusted::in_namespace(Some(owner.wrapping_add(1)), unmapped);
            for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1"] {
                // The test's own descriptors belong to this user, as they do in a namespace.
                let found = place::find(Path::new(name), trusted).unwrap();
                assert!(matches!(found, Found::Standard(_)), "{name}: {found:?}");
            }
        }
        let error =
            find_error(place::find(&others.path("stdout"), Trusted::in_namespace(Some(owner), owner)));
        assert!(error.contains("is a symbolic link of another user"), "{error}");
        let error = find_error(place::find(&others.path("stdout"), Trusted::in_namespace(None, owner)));
        assert!(error.contains("is a symbolic link of another user"), "{error}");
        // The files of another process can be anything that it opened.
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        for name in ["cwd/x", "fd/1"] {
            let name = format!("/proc/{}/{name}", child.id());
            let owner = rustix::process::geteuid().as_raw();
            let found = find_error(place::find(Path::new(&name), Trusted::in_namespace(None, owner)));
            assert!(found.contains("is a symbolic link of another user"), "{name}: {found}");
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn users_without_a_uid() {
        for (map, overflow, me, unmapped) in [
            ("         0          0 4294967295\n", "65534\n", Some(65_534), None),
            ("         0     100000      65536\n", "65534\n", None, Some(65_534)),
            ("0 1000 1\n1 100000 65536\n", "65534\n", None, Some(65_534)),
            ("", "65534\n", None, Some(65_534)),
            ("", "99\n", Some(65_534), Some(99)),
            ("0 0 4294967295", "", Some(65_534), None),
            ("", "", None, Some(65_534)),
            ("0 0 x", "65534", None, Some(65_534)),
        ] {
            assert_eq!(place::trusted(65_534, map, overflow), (me, unmapped), "{map:?} {overflow:?}");
        }
        assert_eq!(place::trusted(0, "0 1000 1\n", "65534\n"), (Some(0), Some(65_534)));
    }

    fn find_error<T>(found: io::Result<T>) -> String {
        found.map(drop).unwrap_err().to_string()
    }

    /// Checks that files are written in the right directory while another user repeatedly replaces this directory by
    /// a link.
    #[test]
    fn no_link_comes_in_between() {
        let others = Others::new("destination-race");
        for folder in ["way", "safe"] {
            fs::create_dir(others.path(folder)).unwrap();
        }
        symlink("safe", others.path("link")).unwrap();
        others.give_away("link");
        let (way, link) = (others.path("way"), others.path("link"));
        let is_over = AtomicBool::new(false);
        let (mut kept, mut refused) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    renameat_with(CWD, &way, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                }
            });
            for n in 0..300 {
                let file = way.join(format!("file{n}"));
                match written(&file, others.stranger(), "text") {
                    Ok(()) => kept += 1,
                    Err(_) => refused += 1,
                }
            }
            is_over.store(true, Relaxed);
        });
        assert_eq!(others.names("safe"), [""; 0], "{kept} files were written, {refused} refused");
    }

    #[test]
    fn pipes_are_opened_once_and_stay() {
        let others = Others::new("destination-pipe");
        mkfifoat(CWD, others.path("pipe"), Mode::from_raw_mode(0o600)).unwrap();
        symlink("pipe", others.path("link")).unwrap();
        for name in ["pipe", "link"] {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let reader: File = open(others.path("pipe"), flags, Mode::empty()).unwrap().into();
            written(&others.path(name), Trusted::current(), "text").unwrap();
            assert_eq!(io::read_to_string(reader).unwrap(), "text", "{name}");
        }
        assert!(fs::metadata(others.path("pipe")).unwrap().file_type().is_fifo());
        assert_eq!(others.names(""), ["link", "pipe"]);
        // Where everybody can make files, a pipe of another user is refused, as by the kernel.
        fs::create_dir(others.path("shared")).unwrap();
        fs::set_permissions(others.path("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
        mkfifoat(CWD, others.path("shared/pipe"), Mode::from_raw_mode(0o666)).unwrap();
        others.give_away("shared/pipe");
        if others.is_root {
            let error =
                Destination::with_trusted(&others.path("shared/pipe"), others.stranger()).unwrap_err().error;
            assert!(format!("{error:#}").contains("is a pipe of another user"), "{error:#}");
        }
        assert!(
            Destination::with_trusted(Path::new("/dev/null"), Trusted::current()).unwrap().check().is_ok()
        );
    }

    /// Checks the kind of target that is found for output paths of devices, standard streams and open files. Devices
    /// are only found and not opened.
    #[test]
    fn devices_are_no_files() {
        let me = Trusted::current();
        for device in ["/dev/null", "/dev/full", "/dev/../dev/zero"] {
            let found = place::find(Path::new(device), me).unwrap();
            assert!(
                matches!(&found, Found::Special(special) if !special.is_regular()),
                "{device}: {found:?}"
            );
        }
        for (name, is_standard) in [("/dev/stdout", true), ("/dev/fd/2", true), ("/proc/self/fd/1", true)] {
            let found = place::find(Path::new(name), me).unwrap();
            assert_eq!(matches!(found, Found::Standard(_)), is_standard, "{name}: {found:?}");
        }
        // An open file that has no path any more.
        let others = Others::new("destination-open");
        let file = File::create_new(others.path("gone")).unwrap();
        fs::remove_file(others.path("gone")).unwrap();
        let name = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
        assert!(refuse_existing(Path::new(&name)).is_err());
        written(Path::new(&name), me, "text").unwrap();
        assert_eq!(file.metadata().unwrap().len(), 4);
        assert_eq!(others.names(""), [""; 0]);
    }

    #[test]
    fn a_new_file_is_not_more_open_than_the_old_one() {
        let others = Others::new("destination-mode");
        let me = Trusted::current();
        for (mode, want) in [(0o600, 0o600), (0o4_755, 0o755), (0o640, 0o640)] {
            fs::write(others.path("file"), "old").unwrap();
            fs::set_permissions(others.path("file"), fs::Permissions::from_mode(mode)).unwrap();
            written(&others.path("file"), me, "text").unwrap();
            let now = fs::metadata(others.path("file")).unwrap().permissions().mode();
            assert_eq!(now & 0o7_777, want, "{mode:o}");
        }
        // Another user's program says nothing about our file.
        fs::set_permissions(others.path("file"), fs::Permissions::from_mode(0o4_777)).unwrap();
        others.give_away("file");
        if others.is_root {
            fs::set_permissions(others.path("file"), fs::Permissions::from_mode(0o4_777)).unwrap();
        }
        written(&others.path("file"), others.stranger(), "text").unwrap();
        let now = fs::metadata(others.path("file")).unwrap().permissions().mode();
        assert_eq!(now & 0o7_111, 0, "{now:o}");
    }

    #[test]
    fn a_database_is_the_file_that_was_made() {
        let others = Others::new("destination-held");
        let destination = Destination::new(&others.path("log.db")).unwrap();
        let (path, held) = destination.part().unwrap().unwrap();
        assert_eq!(path.parent().unwrap(), others.folder);
        assert!(held.check_open().is_err(), "nobody has opened it");
        let file = File::options().write(true).open(&path).unwrap();
        held.check_open().unwrap();
        held.settle().unwrap();
        drop(file);
        // Another one comes into its place.
        fs::rename(&path, others.path("away")).unwrap();
        fs::write(&path, "another").unwrap();
        let _other = File::open(&path).unwrap();
        assert!(held.check_open().is_err());
        fs::remove_file(others.path("away")).unwrap();
        destination.keep_first().unwrap();
        assert_eq!(others.names(""), ["log.db"]);
        let second = Destination::new(&others.path("log.db")).unwrap();
        second.part().unwrap().unwrap();
        assert!(second.keep_first().is_err(), "there is one by now");
        assert_eq!(others.names(""), ["log.db"]);
        let third = Destination::new(&others.path("log.db")).unwrap();
        third.refuse_foreign_folder("").unwrap();
        fs::set_permissions(&others.folder, fs::Permissions::from_mode(0o1_777)).unwrap();
        third.refuse_foreign_folder("").unwrap_err();
    }
}
