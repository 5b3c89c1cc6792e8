//! Worlds that many tests begin with are made once, and copied for each.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use tempfile::TempDir;

use crate::project::Project;

/// A project, and the remote that it was pushed to.
pub(crate) type World = (Project, TempDir);

/// The folders of a world, in memory: nobody would remove those of a test program from the disk.
struct Kept {
    /// The folders of the project and of the remote when they were made.
    places: [PathBuf; 2],
    folders: [Folder; 2],
}

/// The files of a folder with their permissions; a folder in it has no content.
type Folder = BTreeMap<PathBuf, Option<(Vec<u8>, fs::Permissions)>>;

/// A copy of the world with this name, which the first test that asks for it makes. Its remote is asked by its path.
pub(crate) fn begun(name: String, make: impl FnOnce() -> World) -> World {
    static WORLDS: Mutex<BTreeMap<String, Arc<OnceLock<Kept>>>> = Mutex::new(BTreeMap::new());
    let world = Arc::clone(
        WORLDS
            .lock()
            .expect("no test fails here")
            .entry(name)
            .or_default(),
    );
    let kept = world.get_or_init(|| {
        let (project, remote) = make();
        let places = [project.folder(), remote.path()].map(Path::to_owned);
        let folders = places.each_ref().map(|place| kept(place));
        Kept { places, folders }
    });
    kept.copied()
}

impl Kept {
    fn copied(&self) -> World {
        let [folder, remote] = self.folders.each_ref().map(|files| {
            let place = tempfile::tempdir().expect("a temporary folder");
            for (path, file) in files {
                let path = place.path().join(path);
                match file {
                    None => fs::create_dir(&path).expect("made"),
                    Some((bytes, permissions)) => {
                        fs::write(&path, bytes).expect("written");
                        fs::set_permissions(&path, permissions.clone()).expect("set");
                    }
                }
            }
            place
        });
        let project = Project::copied(folder);
        let configuration = project.read(".git/config");
        let [was, is] = [&self.places[1], remote.path()].map(|path| path.display().to_string());
        assert!(configuration.contains(&was), "{configuration}");
        project.write(".git/config", &configuration.replace(&was, &is));
        (project, remote)
    }
}

fn kept(place: &Path) -> Folder {
    let mut files = Folder::new();
    let mut folders = vec![place.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("listed") {
            let entry = entry.expect("listed");
            let (path, kind) = (entry.path(), entry.file_type().expect("known"));
            let content = kind.is_file().then(|| {
                let permissions = entry.metadata().expect("known").permissions();
                assert_ne!(permissions.mode() & 0o400, 0, "{}", path.display());
                (fs::read(&path).expect("read"), permissions)
            });
            assert!(kind.is_dir() || kind.is_file(), "{}", path.display());
            let name = path.strip_prefix(place).expect("below").to_owned();
            files.insert(name, content);
            if kind.is_dir() {
                folders.push(path);
            }
        }
    }
    files
}
