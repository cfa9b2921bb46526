//! The master key, and how it wraps a tenant's keys for storage (AES-256-GCM, NIST SP 800-38D).

use crate::domain::{KeyId, TenantSlug};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    str::FromStr,
};
use zeroize::Zeroizing;

const KEY_LENGTH: usize = 32;
/// The first byte of a wrapped key: AES-256-GCM with a 12-byte nonce after it and the tag at the end.
const VERSION: u8 = 1;

/// What a tenant's key is for; a key of one purpose never opens under another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum KeyPurpose {
    /// Signs checkpoints of the log.
    Log,
    /// Signs agents' access tokens.
    Token,
    /// Authenticates receipts.
    Auth,
    /// Hashes requests, so that an approval finds its own.
    Lookup,
}

impl KeyPurpose {
    /// All four.
    pub const ALL: [Self; 4] = [Self::Log, Self::Token, Self::Auth, Self::Lookup];

    /// The purpose's name in storage and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Token => "token",
            Self::Auth => "auth",
            Self::Lookup => "lookup",
        }
    }
}

impl fmt::Display for KeyPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for KeyPurpose {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|purpose| purpose.as_str() == text).ok_or_else(|| {
            let all = Self::ALL.map(Self::as_str).join(", ");
            format!("`{}` is not the purpose of a key: one of {all}", text.escape_debug())
        })
    }
}

/// Which key is wrapped: bound into the ciphertext, so that a row moved to another tenant, key or purpose
/// does not open.
#[derive(Clone, Copy, Debug)]
pub struct KeyName<'a> {
    /// Whose key it is.
    pub tenant: &'a TenantSlug,
    /// The key's own id.
    pub key: KeyId,
    /// What it is for.
    pub purpose: KeyPurpose,
}

impl KeyName<'_> {
    /// The additional data that the ciphertext authenticates; no part can hold a `|`.
    fn additional_data(&self) -> String {
        format!("procura-key-v1|{}|{}|{}", self.tenant, self.key, self.purpose)
    }
}

/// The key that wraps all others: 32 bytes from a file, copied to each node; wiped when dropped.
#[derive(Clone)]
pub struct MasterKey(Zeroizing<[u8; KEY_LENGTH]>);

impl MasterKey {
    /// A master key of 32 random bytes.
    pub fn from_bytes(bytes: [u8; KEY_LENGTH]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Reads the key from a file of exactly 32 bytes that its owner alone may read.
    pub fn read(path: &Path) -> Result<Self, KeyringError> {
        let failed = |error| KeyringError::File { path: path.to_owned(), error };
        let mut file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        let mode = about.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeyringError::Exposed { path: path.to_owned(), mode });
        }
        let expected = u64::try_from(KEY_LENGTH).unwrap_or(0);
        if !about.is_file() || about.len() != expected {
            return Err(KeyringError::Length { path: path.to_owned(), found: about.len() });
        }
        let mut bytes = Zeroizing::new([0; KEY_LENGTH]);
        file.read_exact(&mut *bytes).map_err(failed)?;
        Ok(Self(bytes))
    }

    /// Writes `bytes` to a new file with mode 0600 and makes it durable; an existing file is never touched.
    pub fn create(path: &Path, bytes: [u8; KEY_LENGTH]) -> Result<Self, KeyringError> {
        let key = Self::from_bytes(bytes);
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(&*key.0)?;
            file.sync_all()?;
            // The name itself is durable only once its folder is.
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            File::open(folder)?.sync_all()
        };
        write().map_err(|error| KeyringError::File { path: path.to_owned(), error })?;
        Ok(key)
    }

    /// Wraps `plain` for storage: version, nonce, ciphertext, tag.
    ///
    /// The caller draws `nonce` at random for each call: one used twice under this key would reveal both.
    pub fn wrap(
        &self,
        plain: &[u8],
        name: &KeyName<'_>,
        nonce: [u8; NONCE_LEN],
    ) -> Result<Vec<u8>, KeyringError> {
        let mut sealed = plain.to_vec();
        self.cipher()?
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(name.additional_data()),
                &mut sealed,
            )
            .map_err(|_| KeyringError::Refused)?;
        let mut wrapped = Vec::with_capacity(1 + NONCE_LEN + sealed.len());
        wrapped.push(VERSION);
        wrapped.extend_from_slice(&nonce);
        wrapped.append(&mut sealed);
        Ok(wrapped)
    }

    /// Opens what [`MasterKey::wrap`] made under the same master key and name.
    pub fn unwrap(&self, wrapped: &[u8], name: &KeyName<'_>) -> Result<Zeroizing<Vec<u8>>, KeyringError> {
        let (version, rest) = wrapped.split_first().ok_or(KeyringError::DoesNotOpen)?;
        if *version != VERSION {
            return Err(KeyringError::Version(*version));
        }
        let (nonce, sealed) = rest.split_at_checked(NONCE_LEN).ok_or(KeyringError::DoesNotOpen)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| KeyringError::DoesNotOpen)?;
        let mut bytes = Zeroizing::new(sealed.to_vec());
        let length = self
            .cipher()?
            .open_in_place(nonce, Aad::from(name.additional_data()), &mut bytes)
            .map_err(|_| KeyringError::DoesNotOpen)?
            .len();
        bytes.truncate(length);
        Ok(bytes)
    }

    fn cipher(&self) -> Result<LessSafeKey, KeyringError> {
        UnboundKey::new(&AES_256_GCM, &*self.0).map(LessSafeKey::new).map_err(|_| KeyringError::Refused)
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey")
    }
}

/// Why a key was not read, written, wrapped or opened.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The file could not be read or written.
    #[error("master key `{}`: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Others than its owner may use the file.
    #[error("master key `{}` has mode `{mode:04o}`: only its owner may have access, as with `0600`", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file is not a regular one of 32 bytes.
    #[error("master key `{}` has {found} bytes, 32 are expected", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its size in bytes.
        found: u64,
    },
    /// The wrapped key is of a form this version does not know.
    #[error("wrapped key of form {0}, only form 1 is known")]
    Version(u8),
    /// Wrong master key, a changed ciphertext, or one that belongs to another tenant, key or purpose.
    #[error("a stored key does not open: this is another master key, or the row was changed or moved")]
    DoesNotOpen,
    /// The cipher itself refused.
    #[error("the cipher refused to wrap a key")]
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Timestamp;
    use std::{
        fs,
        sync::atomic::{AtomicU32, Ordering},
    };

    fn slug(text: &str) -> TenantSlug {
        text.parse().unwrap()
    }

    fn key_id(tail: u8) -> KeyId {
        KeyId::new(Timestamp::from_unix_seconds(1), [tail; 10])
    }

    /// A folder of its own for each test, removed afterwards.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            let name =
                format!("procura-keyring-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_wrapped_key_opens_under_its_own_name_alone() {
        let (acme, globex) = (slug("acme"), slug("globex"));
        let name = KeyName { tenant: &acme, key: key_id(1), purpose: KeyPurpose::Log };
        let master = MasterKey::from_bytes([5; 32]);
        let wrapped = master.wrap(b"the signing seed", &name, [9; 12]).unwrap();
        assert_eq!(&*master.unwrap(&wrapped, &name).unwrap(), b"the signing seed");
        for moved in [
            KeyName { tenant: &globex, ..name },
            KeyName { key: key_id(2), ..name },
            KeyName { purpose: KeyPurpose::Token, ..name },
        ] {
            assert!(matches!(master.unwrap(&wrapped, &moved), Err(KeyringError::DoesNotOpen)), "{moved:?}");
        }
        let other = MasterKey::from_bytes([6; 32]);
        assert!(matches!(other.unwrap(&wrapped, &name), Err(KeyringError::DoesNotOpen)));
    }

    #[test]
    fn every_flipped_byte_and_every_cut_is_found() {
        let acme = slug("acme");
        let name = KeyName { tenant: &acme, key: key_id(1), purpose: KeyPurpose::Auth };
        let master = MasterKey::from_bytes([5; 32]);
        let wrapped = master.wrap(&[1; 32], &name, [9; 12]).unwrap();
        assert_eq!(wrapped.len(), 1 + 12 + 32 + 16);
        for place in 0..wrapped.len() {
            let mut changed = wrapped.clone();
            changed[place] ^= 1;
            assert!(master.unwrap(&changed, &name).is_err(), "byte {place}");
            assert!(master.unwrap(&wrapped[..place], &name).is_err(), "cut at {place}");
        }
        let mut later = wrapped;
        later[0] = 2;
        assert!(matches!(master.unwrap(&later, &name), Err(KeyringError::Version(2))));
    }

    /// The AES-256-GCM of an empty text under zero key and nonce: test case 13 of the GCM specification
    /// (McGrew and Viega). The name is no part of that case, so the cipher is asked directly.
    #[test]
    fn the_cipher_is_aes_256_gcm() {
        let mut text = Vec::new();
        MasterKey::from_bytes([0; 32])
            .cipher()
            .unwrap()
            .seal_in_place_append_tag(Nonce::assume_unique_for_key([0; 12]), Aad::empty(), &mut text)
            .unwrap();
        assert_eq!(hex::encode(text), "530f8afbc74536b9a963b4f1c4cb738b");
    }

    #[test]
    fn the_additional_data_names_tenant_key_and_purpose() {
        let acme = slug("acme");
        let name = KeyName { tenant: &acme, key: key_id(0), purpose: KeyPurpose::Lookup };
        assert_eq!(name.additional_data(), format!("procura-key-v1|acme|{}|lookup", key_id(0)));
    }

    #[test]
    fn a_master_key_is_written_once_for_its_owner_and_reads_back() {
        let folder = Folder::new();
        let path = folder.0.join("master.key");
        MasterKey::create(&path, [8; 32]).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(*MasterKey::read(&path).unwrap().0, [8; 32]);
        let second = MasterKey::create(&path, [9; 32]);
        assert!(
            matches!(second, Err(KeyringError::File { ref error, .. }) if error.kind() == io::ErrorKind::AlreadyExists)
        );
        assert_eq!(fs::read(&path).unwrap(), [8; 32], "the first key stands");
    }

    #[test]
    fn a_master_key_that_others_may_read_is_refused_by_its_mode() {
        let folder = Folder::new();
        let path = folder.0.join("master.key");
        MasterKey::create(&path, [8; 32]).unwrap();
        for mode in [0o640, 0o604, 0o610, 0o644, 0o666, 0o602] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let refusal = MasterKey::read(&path).unwrap_err().to_string();
            assert!(refusal.contains(&format!("`{mode:04o}`")), "{refusal}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert!(MasterKey::read(&path).is_ok());
    }

    #[test]
    fn a_master_key_has_32_bytes() {
        let folder = Folder::new();
        for length in [0usize, 31, 33, 65] {
            let path = folder.0.join(format!("{length}.key"));
            fs::write(&path, vec![1; length]).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let refusal = MasterKey::read(&path).unwrap_err().to_string();
            assert!(refusal.contains(&format!("has {length} bytes")), "{refusal}");
        }
        assert!(matches!(MasterKey::read(&folder.0.join("none.key")), Err(KeyringError::File { .. })));
    }

    #[test]
    fn a_purpose_has_one_name() {
        for purpose in KeyPurpose::ALL {
            assert_eq!(purpose.to_string().parse(), Ok(purpose));
        }
        assert!("Log".parse::<KeyPurpose>().is_err());
    }

    #[test]
    fn a_master_key_prints_as_its_type() {
        assert_eq!(format!("{:?}", MasterKey::from_bytes([8; 32])), "MasterKey");
    }
}
