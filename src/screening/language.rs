//! The languages that are read, and what the product itself says in them.

use std::str::FromStr;

/// A language of turns and replies. It is chosen, never guessed from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Portuguese as written in Brazil, with its accents or without them.
    BrazilianPortuguese,
}

impl Language {
    /// Its tag (BCP 47).
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::BrazilianPortuguese => "pt-BR",
        }
    }

    /// Whether a letter with an accent is another letter than the one without.
    pub(super) const fn accents_count(self) -> bool {
        match self {
            Self::English => true,
            Self::BrazilianPortuguese => false,
        }
    }

    /// What stands in the place of a text that the rules hold back from whoever would read it.
    pub const fn not_shown(self) -> &'static str {
        match self {
            Self::English => "(Held back by the reply rules: it holds personal details.)",
            Self::BrazilianPortuguese => "(Retido pelas regras de resposta: contém dados pessoais.)",
        }
    }

    /// What a person is told whose turn was held back.
    pub const fn withheld(self) -> &'static str {
        match self {
            Self::English => {
                "I can't take the personal details in that message, so it was not read and nothing was done. Please write again and leave them out."
            }
            Self::BrazilianPortuguese => {
                "Não posso receber os dados pessoais dessa mensagem, então ela não foi lida e nada aconteceu. Escreva de novo sem esses dados, por favor."
            }
        }
    }
}

impl FromStr for Language {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "en" => Ok(Self::English),
            "pt-BR" => Ok(Self::BrazilianPortuguese),
            other => {
                let shown: String = other.chars().take(40).collect();
                Err(format!("`{}` is not a language that is read: en, pt-BR", shown.escape_debug()))
            }
        }
    }
}
