//! The system calls of Linux. On Linux each thread has its own user, and inherits it from the thread that started it.
//! So this process changes its user before it starts a second thread.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::{fs, io};

use rustix::process::{
    DumpableBehavior, Uid, getpid, getuid, set_child_subreaper, set_dumpable_behavior,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, Gid, capabilities, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::{USER, User, others, user};

/// The sockets of Docker: a process that may use them is as powerful as root.
const SOCKETS: [&str; 2] = ["/var/run/docker.sock", "/run/docker.sock"];
/// A group with no rights.
const NO_GROUP: u32 = 65534;

/// Hides this process from others, and makes it the parent of all its descendants whose own parent has ended.
pub fn begin() {
    hide();
    // If the system refuses this, the supervisors still keep track of the processes that they started.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Hides the memory and the environment of this process from other processes of the same user. Starting another program
/// undoes this.
pub fn hide() {
    // If the system cannot do this, no other process could read this process anyway.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Makes all processes that are started from now on run as the owner of a folder, and makes this process work as that
/// user.
///
/// # Errors
///
/// Fails with the reason, in words that fit after "the pipeline is not kept apart:". Then nothing has changed.
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
    // On GitHub's machines the group of the workspace also owns Docker's socket.
    let gid = match sockets().any(|socket| socket.gid() == owner) {
        true => NO_GROUP,
        false => owner,
    };
    let user = User { uid: owner, gid };
    work_as(user).map_err(|error| format!("the system refuses it: {error}"))?;
    let _ = USER.set(user);
    Ok(())
}

/// Makes this thread work with the rights of a user, in such a way that it can become root again.
fn work_as(user: User) -> io::Result<()> {
    set_thread_res_gid(None, Gid::from_raw(user.gid), None)?;
    set_thread_res_uid(None, Uid::from_raw(user.uid), None)?;
    // The system resets the flag when the user changes.
    hide();
    Ok(())
}

/// Runs `work` as root if this process works as another user, e.g. to start a process that gives up its rights
/// itself.
pub fn as_root<T>(work: impl FnOnce() -> T) -> T {
    let Some(user) = user() else {
        return work();
    };
    // In a process with different real and effective users, the C library drops variables such as `TMPDIR`.
    let is_root = set_thread_res_uid(None, Uid::ROOT, None).is_ok()
        && set_thread_res_gid(None, Gid::ROOT, None).is_ok();
    let done = work();
    if is_root {
        // Continuing with other rights would be wrong.
        work_as(user).expect("root may become any user");
    }
    done
}

/// Gives up all rights of this process, for itself and for all processes that it will start.
///
/// # Errors
///
/// Fails if the system refuses it, or if a right is left.
pub fn held(user: User) -> io::Result<()> {
    let gid = Gid::from_raw(user.gid);
    let uid = Uid::from_raw(user.uid);
    set_thread_groups(&[])?;
    // If the right to do this is missing, that is harmless: `no_new_privs` below prevents programs from regaining
    // rights.
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

/// Runs `work` while all descendants of this process are stopped, so that the things that it inspects do not change,
/// and no descendant can inspect the processes that are started for it.
///
/// # Errors
///
/// Fails if a process cannot be stopped.
pub fn alone<T>(work: impl FnOnce() -> T) -> io::Result<T> {
    let stopped = as_root(others::stop)?;
    let done = work();
    as_root(|| others::go_on(&stopped));
    Ok(done)
}

/// Ends all descendants of this process. Returns how many are left after some time.
pub fn end_all() -> usize {
    as_root(others::end)
}
