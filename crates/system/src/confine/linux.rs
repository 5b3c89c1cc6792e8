//! The calls of Linux. Users are a matter of each thread there, and a thread has those of the one that began it: so
//! this process changes before it has a second one.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::process::{
    DumpableBehavior, Uid, getpid, getuid, set_child_subreaper, set_dumpable_behavior,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::{USER, User, others, user};

/// Whoever may talk to Docker is root.
const SOCKETS: [&str; 2] = ["/var/run/docker.sock", "/run/docker.sock"];
/// A group with no rights.
const NO_GROUP: u32 = 65534;

/// Hides this process, and makes it the parent of all that loses its own parent below it.
pub fn begin() {
    hide();
    // Where the system refuses it, supervisors still have what they started.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Hides the memory and the environment of this process from other processes of its user. Starting another program
/// takes that back.
pub fn hide() {
    // A system that cannot do it has nothing that this would hide from.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Has everything that is started from now on run as the user that a folder belongs to, and makes this process work
/// as that user.
///
/// # Errors
///
/// Why it cannot be, in words that fit after "the pipeline is not kept apart:". Nothing has changed then.
pub fn become_apart(folder: &Path) -> Result<(), String> {
    if !getuid().is_root() {
        return Err("this container does not run as root".to_owned());
    }
    let shown = folder.display();
    let owner = fs::metadata(folder)
        .map_err(|error| format!("`{shown}` cannot be looked at: {error}"))?
        .uid();
    if owner == 0 {
        return Err(format!("`{shown}` belongs to root"));
    }
    let sockets = || {
        SOCKETS
            .iter()
            .filter_map(|socket| fs::metadata(socket).ok())
    };
    if sockets().any(|socket| socket.uid() == owner) {
        return Err(format!(
            "the socket of Docker belongs to the user of `{shown}`"
        ));
    }
    // On GitHub's machines the group of the workspace is that of the socket.
    let gid = match sockets().any(|socket| socket.gid() == owner) {
        true => NO_GROUP,
        false => owner,
    };
    let user = User { uid: owner, gid };
    work_as(user).map_err(|error| format!("the system refuses it: {error}"))?;
    let _ = USER.set(user);
    Ok(())
}

/// Has this thread work as a user, with the way back open.
fn work_as(user: User) -> io::Result<()> {
    set_thread_res_gid(None, Gid::from_raw(user.gid), None)?;
    set_thread_res_uid(None, Uid::from_raw(user.uid), None)?;
    // The system forgets it where a user changes.
    hide();
    Ok(())
}

/// Does something as root where this process works as another user, e.g. starts a process that gives its rights away
/// by itself.
pub fn as_root<T>(work: impl FnOnce() -> T) -> T {
    let Some(user) = user() else {
        return work();
    };
    // Of a process whose user or group is half another one, the C library drops variables such as `TMPDIR`.
    let is_root = set_thread_res_uid(None, Uid::ROOT, None).is_ok()
        && set_thread_res_gid(None, Gid::ROOT, None).is_ok();
    let done = work();
    if is_root {
        // Nothing that comes after it would be right with other rights.
        work_as(user).expect("root may become any user");
    }
    done
}

/// Gives all rights of this process away, for good and for all that it will start.
///
/// # Errors
///
/// Where the system refuses it, or where something is left.
pub fn held(user: User) -> io::Result<()> {
    let gid = Gid::from_raw(user.gid);
    let uid = Uid::from_raw(user.uid);
    set_thread_groups(&[])?;
    // Without the right to do so nothing is lost: programs that would give rights back have no effect below.
    for capability in CapabilitySet::all().iter() {
        let _ = remove_capability_from_bounding_set(capability);
    }
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    let nothing = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, nothing)?;
    set_no_new_privs(true)?;
    match capabilities(None)? == nothing && getuid() == uid {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Does something while nothing that this process has started goes on, so that what was looked at stays as it is, and
/// nobody looks at what is started for it.
///
/// # Errors
///
/// Where a process cannot be stopped.
pub fn alone<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    let stopped = as_root(others::stop)?;
    let done = work();
    as_root(|| others::go_on(&stopped));
    Ok(done)
}

/// Ends all that this process has started. How many are left after a while.
pub fn end_all() -> usize {
    as_root(others::end)
}
