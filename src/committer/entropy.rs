//! The one place that draws random bytes.

/// Random bytes from a generator seeded by the operating system.
pub fn bytes<const N: usize>() -> [u8; N] {
    use rand::Rng;
    let mut drawn = [0; N];
    rand::rng().fill_bytes(&mut drawn);
    drawn
}
