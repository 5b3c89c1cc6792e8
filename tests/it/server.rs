use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::github::TOKEN;

/// A git server on loopback: `git http-backend` behind lighttpd, which asks for a token as GitHub
/// does (`x-access-token:TOKEN` as basic authentication); the token is that of the GitHub on loopback.
pub(crate) struct Server {
    folder: TempDir,
    child: Child,
    port: u16,
}

impl Server {
    /// Starts the server, or says why it cannot be: the caller prints that and skips.
    pub(crate) fn start() -> Result<Self, String> {
        let program = ["/usr/sbin/lighttpd", "/usr/bin/lighttpd"]
            .into_iter()
            .find(|path| Path::new(path).exists())
            .ok_or("lighttpd is not installed")?;
        let exec = Command::new("git")
            .arg("--exec-path")
            .output()
            .map_err(|e| e.to_string())?;
        let backend = PathBuf::from(String::from_utf8_lossy(&exec.stdout).trim().to_owned())
            .join("git-http-backend");
        if !backend.exists() {
            return Err(format!("{} is not there", backend.display()));
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let root = folder.path().display().to_string();
        for name in ["srv", "tmp", "empty"] {
            fs::create_dir(folder.path().join(name)).expect("made");
        }
        fs::write(
            folder.path().join("users"),
            format!("x-access-token:{TOKEN}\n"),
        )
        .expect("written");
        let port = free_port();
        let config = format!(
            r#"server.modules = ("mod_auth","mod_authn_file","mod_cgi","mod_alias","mod_setenv")
server.document-root = "{root}/empty"
server.bind = "127.0.0.1"
server.port = {port}
server.errorlog = "{root}/error.log"
server.upload-dirs = ("{root}/tmp")
alias.url += ("/" => "{}/")
cgi.assign = ("" => "")
setenv.add-environment = ("GIT_PROJECT_ROOT" => "{root}/srv", "GIT_HTTP_EXPORT_ALL" => "1", "REMOTE_USER" => "x-access-token")
auth.backend = "plain"
auth.backend.plain.userfile = "{root}/users"
auth.require = ("" => ("method" => "basic", "realm" => "git", "require" => "valid-user"))
"#,
            backend.display()
        );
        fs::write(folder.path().join("lighttpd.conf"), config).expect("written");
        let child = Command::new(program)
            .args(["-D", "-f"])
            .arg(folder.path().join("lighttpd.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let server = Self {
            folder,
            child,
            port,
        };
        let start = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if start.elapsed() > Duration::from_secs(10) {
                return Err("lighttpd did not come up".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Makes an empty repository that takes pushes, and lets any reachable commit be fetched.
    pub(crate) fn create(&self, name: &str) -> PathBuf {
        let path = self.folder.path().join("srv").join(name);
        let git = |arguments: &[&str]| {
            let status = Command::new("git")
                .args(arguments)
                .status()
                .expect("git starts");
            assert!(status.success(), "git {arguments:?}");
        };
        let text = path.display().to_string();
        git(&["init", "--quiet", "--bare", "--initial-branch=main", &text]);
        git(&["-C", &text, "config", "http.receivepack", "true"]);
        git(&[
            "-C",
            &text,
            "config",
            "uploadpack.allowReachableSHA1InWant",
            "true",
        ]);
        path
    }

    /// Where a repository is cloned from.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    /// The setting that a checkout leaves in a clone so that git sends the token.
    pub(crate) fn header() -> String {
        format!(
            "AUTHORIZATION: basic {}",
            base64(format!("x-access-token:{TOKEN}").as_bytes())
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that nobody listens on. It is none of those that the system gives to whoever asks for any: another test could
/// be given it before the server listens.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Two test programs at the same time begin at different places.
    let start = std::process::id().wrapping_mul(7919) % 6000;
    let start = u16::try_from(start).expect("less than 6,000");
    (0..6000)
        .map(|_| 4000 + (start + NEXT.fetch_add(1, Ordering::Relaxed) % 6000) % 6000)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("a free port")
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word = chunk
            .iter()
            .fold(0_u32, |word, byte| word << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place <= chunk.len() {
                text.push(char::from(DIGITS[(word >> (18 - 6 * place)) as usize & 63]));
            } else {
                text.push('=');
            }
        }
    }
    text
}
