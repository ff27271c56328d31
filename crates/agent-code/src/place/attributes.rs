//! What a file has beside content, owner and mode: access control lists, capabilities, labels, and what people keep there.
//!
//! A new file in the place of an old one must have the same, no less and no more: what a folder hands down to new files may
//! give rights that the old file did not give.

use std::{
    collections::BTreeMap,
    ffi::{CStr, CString},
    fs::File,
    io,
};

use rustix::{
    fs::{XattrFlags, fgetxattr, flistxattr, fremovexattr, fsetxattr},
    io::Errno,
};

/// As much as Linux lets names and values take. Bytes.
const MAX: usize = 64 * 1024;

/// Access control lists, where the system keeps them as attributes.
const ACCESS_LIST: &CStr = c"system.posix_acl_access";

/// Made by the system from the content, so that another content has another one.
const OF_CONTENT: [&CStr; 2] = [c"security.ima", c"security.evm"];

/// An attribute that the new file cannot have, or cannot be without.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} {name}")]
pub(super) struct AttributeError {
    pub(super) name: String,
    pub(super) step: &'static str,
    pub(super) source: io::Error,
}

type Attributes = BTreeMap<CString, Vec<u8>>;

/// The attributes of a file that are to be had by what takes its place.
#[derive(Debug)]
pub(super) struct Kept(Attributes);

impl Kept {
    pub(super) fn of(file: &File) -> Result<Self, AttributeError> {
        read(file).map(Self)
    }

    /// Takes off what the new file was handed down by its folder. Before its mode is set: that would widen a list.
    pub(super) fn take_off_others(&self, file: &File) -> Result<(), AttributeError> {
        for name in read(file)?.keys().filter(|name| !self.0.contains_key(*name)) {
            match fremovexattr(file, name.as_c_str()) {
                Ok(()) | Err(Errno::NODATA) => {}
                Err(error) => return Err(failed("take off", name, error)),
            }
        }
        Ok(())
    }

    /// Gives the new file what the old one has. After its content, owner and mode: each of them takes capabilities away.
    pub(super) fn put_on(&self, file: &File) -> Result<(), AttributeError> {
        let has = read(file)?;
        for (name, value) in self.0.iter().filter(|(name, value)| has.get(*name) != Some(value)) {
            fsetxattr(file, name.as_c_str(), value, XattrFlags::empty())
                .map_err(|error| failed("keep", name, error))?;
        }
        Ok(())
    }
}

fn read(file: &File) -> Result<Attributes, AttributeError> {
    let mut names = vec![0; MAX];
    let length = match flistxattr(file, &mut names[..]) {
        Ok(length) => length,
        // There are file systems without any.
        Err(Errno::NOTSUP) => return Ok(Attributes::new()),
        Err(error) => {
            return Err(AttributeError { name: "its attributes".to_owned(), step: "list", source: error.into() });
        }
    };
    names.truncate(length);
    let names = names.split_inclusive(|byte| *byte == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok());
    let mut all = Attributes::new();
    let mut value = vec![0; MAX];
    for name in names.filter(|name| !OF_CONTENT.contains(name)) {
        match fgetxattr(file, name, &mut value[..]) {
            Ok(length) => drop(all.insert(name.to_owned(), value[..length].to_vec())),
            // Taken off since it was listed, or a name that this file system lists and has no values for.
            Err(Errno::NODATA | Errno::NOTSUP) => {}
            Err(error) => return Err(failed("read", name, error)),
        }
    }
    Ok(all)
}

fn failed(step: &'static str, name: &CStr, error: Errno) -> AttributeError {
    let shown = name.to_string_lossy();
    let name = match name == ACCESS_LIST {
        true => format!("its access control list ({shown})"),
        false => format!("its attribute {shown}"),
    };
    AttributeError { name, step, source: error.into() }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
