//! What each class of personal data gets.

use super::{Action, Class};

/// An action for every class: the one that is written, or the class's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PersonalData {
    email: Option<Action>,
    iban: Option<Action>,
    national_id: Option<Action>,
    card: Option<Action>,
    phone: Option<Action>,
}

impl PersonalData {
    /// What a class gets.
    pub fn of(self, class: Class) -> Action {
        let default = match class {
            Class::Email | Class::Phone => Action::Allow,
            Class::Iban | Class::NationalId | Class::Card => Action::Redact,
        };
        self.written(class).unwrap_or(default)
    }

    /// Writes down what a class gets.
    pub fn set(&mut self, class: Class, action: Action) {
        *match class {
            Class::Email => &mut self.email,
            Class::Iban => &mut self.iban,
            Class::NationalId => &mut self.national_id,
            Class::Card => &mut self.card,
            Class::Phone => &mut self.phone,
        } = Some(action);
    }

    /// What is written, class by class.
    pub fn named(self) -> impl Iterator<Item = (Class, Action)> {
        let classes = [Class::Email, Class::Iban, Class::NationalId, Class::Card, Class::Phone];
        classes.into_iter().filter_map(move |class| Some((class, self.written(class)?)))
    }

    fn written(self, class: Class) -> Option<Action> {
        match class {
            Class::Email => self.email,
            Class::Iban => self.iban,
            Class::NationalId => self.national_id,
            Class::Card => self.card,
            Class::Phone => self.phone,
        }
    }
}
