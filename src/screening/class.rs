//! The classes of personal data.

use std::{fmt, str::FromStr};

/// What kind of personal data a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// An address of mail, `name@domain`.
    Email,
    /// An international bank account number (ISO 13616) whose check digits hold.
    Iban,
    /// A number that a state gives to one person.
    NationalId,
    /// A payment card's number whose check digit holds.
    Card,
    /// A telephone number.
    Phone,
}

impl Class {
    /// All of them, in the order in which people are shown them.
    pub const ALL: [Self; 5] = [Self::Email, Self::Iban, Self::NationalId, Self::Card, Self::Phone];

    /// The class's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Iban => "iban",
            Self::NationalId => "national_id",
            Self::Card => "card",
            Self::Phone => "phone",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Class {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|class| class.as_str() == text).ok_or_else(|| {
            let shown: String = text.chars().take(64).collect();
            let allowed = Self::ALL.map(Self::as_str).join(", ");
            format!("`{}` is not a class of personal data, allowed: {allowed}", shown.escape_debug())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_read_by_its_name() {
        for class in Class::ALL {
            assert_eq!(class.as_str().parse(), Ok(class));
        }
        assert_eq!(
            "passport".parse::<Class>().unwrap_err(),
            "`passport` is not a class of personal data, allowed: email, iban, national_id, card, phone"
        );
    }
}
