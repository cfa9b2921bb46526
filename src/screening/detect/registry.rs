//! How an account number is built in each country of the IBAN registry (ISO 13616).

/// What may stand at a place of a national account number.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// A digit.
    N,
    /// A letter.
    A,
    /// A letter or digit.
    C,
}

use Place::{A, C, N};

/// Runs of places after the country and the two check digits.
type Structure = &'static [(usize, Place)];

/// The countries in order, each with the structure of its account numbers.
#[rustfmt::skip]
const REGISTRY: [(&str, Structure); 89] = [
    ("AD", &[(8, N), (12, C)]),
    ("AE", &[(19, N)]),
    ("AL", &[(8, N), (16, C)]),
    ("AT", &[(16, N)]),
    ("AZ", &[(4, A), (20, C)]),
    ("BA", &[(16, N)]),
    ("BE", &[(12, N)]),
    ("BG", &[(4, A), (6, N), (8, C)]),
    ("BH", &[(4, A), (14, C)]),
    ("BI", &[(23, N)]),
    ("BR", &[(23, N), (1, A), (1, C)]),
    ("BY", &[(4, C), (4, N), (16, C)]),
    ("CH", &[(5, N), (12, C)]),
    ("CR", &[(18, N)]),
    ("CY", &[(8, N), (16, C)]),
    ("CZ", &[(20, N)]),
    ("DE", &[(18, N)]),
    ("DJ", &[(23, N)]),
    ("DK", &[(14, N)]),
    ("DO", &[(4, C), (20, N)]),
    ("EE", &[(16, N)]),
    ("EG", &[(25, N)]),
    ("ES", &[(20, N)]),
    ("FI", &[(14, N)]),
    ("FK", &[(2, A), (12, N)]),
    ("FO", &[(14, N)]),
    ("FR", &[(10, N), (11, C), (2, N)]),
    ("GB", &[(4, A), (14, N)]),
    ("GE", &[(2, A), (16, N)]),
    ("GI", &[(4, A), (15, C)]),
    ("GL", &[(14, N)]),
    ("GR", &[(7, N), (16, C)]),
    ("GT", &[(24, C)]),
    ("HN", &[(4, A), (20, N)]),
    ("HR", &[(17, N)]),
    ("HU", &[(24, N)]),
    ("IE", &[(4, A), (14, N)]),
    ("IL", &[(19, N)]),
    ("IQ", &[(4, A), (15, N)]),
    ("IS", &[(22, N)]),
    ("IT", &[(1, A), (10, N), (12, C)]),
    ("JO", &[(4, A), (4, N), (18, C)]),
    ("KW", &[(4, A), (22, C)]),
    ("KZ", &[(3, N), (13, C)]),
    ("LB", &[(4, N), (20, C)]),
    ("LC", &[(4, A), (24, C)]),
    ("LI", &[(5, N), (12, C)]),
    ("LT", &[(16, N)]),
    ("LU", &[(3, N), (13, C)]),
    ("LV", &[(4, A), (13, C)]),
    ("LY", &[(21, N)]),
    ("MC", &[(10, N), (11, C), (2, N)]),
    ("MD", &[(20, C)]),
    ("ME", &[(18, N)]),
    ("MK", &[(3, N), (10, C), (2, N)]),
    ("MN", &[(16, N)]),
    ("MR", &[(23, N)]),
    ("MT", &[(4, A), (5, N), (18, C)]),
    ("MU", &[(4, A), (19, N), (3, A)]),
    ("NI", &[(4, A), (20, N)]),
    ("NL", &[(4, A), (10, N)]),
    ("NO", &[(11, N)]),
    ("OM", &[(3, N), (16, C)]),
    ("PK", &[(4, A), (16, C)]),
    ("PL", &[(24, N)]),
    ("PS", &[(4, A), (21, C)]),
    ("PT", &[(21, N)]),
    ("QA", &[(4, A), (21, C)]),
    ("RO", &[(4, A), (16, C)]),
    ("RS", &[(18, N)]),
    ("RU", &[(14, N), (15, C)]),
    ("SA", &[(2, N), (18, C)]),
    ("SC", &[(4, A), (20, N), (3, A)]),
    ("SD", &[(14, N)]),
    ("SE", &[(20, N)]),
    ("SI", &[(15, N)]),
    ("SK", &[(20, N)]),
    ("SM", &[(1, A), (10, N), (12, C)]),
    ("SO", &[(19, N)]),
    ("ST", &[(21, N)]),
    ("SV", &[(4, A), (20, N)]),
    ("TL", &[(19, N)]),
    ("TN", &[(20, N)]),
    ("TR", &[(6, N), (16, C)]),
    ("UA", &[(6, N), (19, C)]),
    ("VA", &[(18, N)]),
    ("VG", &[(4, A), (16, N)]),
    ("XK", &[(16, N)]),
    ("YE", &[(4, A), (4, N), (18, C)]),
];

/// The structure of a country's numbers, by its code in upper case.
pub(super) fn structure(country: &[u8]) -> Option<Structure> {
    let found = REGISTRY.binary_search_by(|(code, _)| code.as_bytes().cmp(country)).ok()?;
    REGISTRY.get(found).map(|(_, structure)| *structure)
}
