//! The verbs and nouns with which people say that something was done.

use crate::domain::Intent;

/// One thing that can be done, and the words for it.
pub(super) struct Deed {
    /// The plain form in English, which names it.
    pub stem: &'static str,
    /// Past participles in English.
    pub done: &'static [&'static str],
    /// Nouns in English.
    pub nouns: &'static [&'static str],
    /// Verbs in Portuguese, without accents.
    pub verbs: &'static [Verb],
    /// Nouns in Portuguese, without accents.
    pub nomes: &'static [&'static str],
}

/// A verb in Portuguese: the stem before its endings, and which endings those are.
pub(super) enum Verb {
    /// `cancelar`: cancelei, cancelamos, cancelado.
    Ar(&'static str),
    /// `devolver`: devolvi, devolvemos, devolvido.
    Er(&'static str),
    /// `emitir`: emiti, emitimos, emitido.
    Ir(&'static str),
    /// First person, first person plural, participle and infinitive, where they follow no pattern.
    Other(&'static str, &'static str, &'static str, &'static str),
}

/// What form of a verb in Portuguese a word is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// I did.
    First,
    /// We did, which most verbs do not tell from we do.
    Plural,
    /// Done.
    Participle,
    /// To do.
    Infinitive,
}

impl Verb {
    /// Which form of this verb a word is.
    pub(super) fn form(&self, word: &str) -> Option<Form> {
        let (stem, endings) = match self {
            Self::Ar(stem) => (stem, ["ei", "amos", "ad", "ar"]),
            Self::Er(stem) => (stem, ["i", "emos", "id", "er"]),
            Self::Ir(stem) => (stem, ["i", "imos", "id", "ir"]),
            Self::Other(first, plural, participle, infinitive) => {
                return match word {
                    word if word == *first => Some(Form::First),
                    word if word == *plural => Some(Form::Plural),
                    word if is_gendered(word, participle) => Some(Form::Participle),
                    word if word == *infinitive => Some(Form::Infinitive),
                    _ => None,
                };
            }
        };
        let ending = word.strip_prefix(stem)?;
        let [first, plural, participle, infinitive] = endings;
        match ending {
            ending if ending == first => Some(Form::First),
            ending if ending == plural => Some(Form::Plural),
            ending if is_gendered(ending, participle) => Some(Form::Participle),
            ending if ending == infinitive => Some(Form::Infinitive),
            _ => None,
        }
    }
}

fn is_gendered(word: &str, stem: &str) -> bool {
    word.strip_prefix(stem).is_some_and(|ending| matches!(ending, "o" | "a" | "os" | "as"))
}

const fn deed(
    stem: &'static str,
    done: &'static [&'static str],
    nouns: &'static [&'static str],
    verbs: &'static [Verb],
    nomes: &'static [&'static str],
) -> Deed {
    Deed { stem, done, nouns, verbs, nomes }
}

use Verb::{Ar, Er, Ir, Other};

/// What replies are known to say was done.
pub(super) const DEEDS: [Deed; 41] = [
    deed(
        "refund",
        &["refunded", "reimbursed"],
        &["refund", "reimbursement"],
        &[Ar("reembols"), Ar("estorn")],
        &["reembolso", "estorno"],
    ),
    deed("cancel", &["cancelled", "canceled"], &["cancellation"], &[Ar("cancel")], &["cancelamento"]),
    deed("send", &["sent", "emailed", "mailed"], &[], &[Ar("envi"), Ar("mand")], &["envio"]),
    deed("pay", &["paid"], &["payment"], &[Other("paguei", "pagamos", "pag", "pagar")], &["pagamento"]),
    deed("transfer", &["transferred"], &["transfer"], &[Ir("transfer")], &["transferencia"]),
    deed("book", &["booked"], &["booking"], &[Ar("reserv")], &["reserva"]),
    deed("reserve", &["reserved"], &["reservation"], &[Ar("reserv")], &["reserva"]),
    deed(
        "order",
        &["ordered"],
        &["order"],
        &[Other("pedi", "pedimos", "pedid", "pedir"), Ar("encomend")],
        &["encomenda"],
    ),
    deed(
        "delete",
        &["deleted", "erased"],
        &["deletion"],
        &[Ar("apag"), Ir("exclu"), Ar("delet")],
        &["exclusao"],
    ),
    deed("remove", &["removed"], &["removal"], &[Er("remov")], &["remocao"]),
    deed("create", &["created"], &["creation"], &[Ar("cri")], &["criacao"]),
    deed(
        "change",
        &["changed", "modified"],
        &["change"],
        &[Ar("alter"), Ar("mud")],
        &["alteracao", "mudanca"],
    ),
    deed("update", &["updated"], &["update"], &[Ar("atualiz")], &["atualizacao"]),
    deed("charge", &["charged", "billed"], &["charge"], &[Ar("cobr")], &["cobranca"]),
    deed("ship", &["shipped", "dispatched"], &["shipment"], &[Ar("despach")], &["despacho"]),
    deed(
        "schedule",
        &["scheduled"],
        &["appointment"],
        &[Ar("agend"), Other("marquei", "marcamos", "marcad", "marcar")],
        &["agendamento"],
    ),
    deed("issue", &["issued"], &[], &[Ir("emit")], &["emissao"]),
    deed("discount", &["discounted"], &["discount"], &[Ar("descont")], &["desconto"]),
    deed("credit", &["credited"], &["credit"], &[Ar("credit")], &["credito"]),
    deed("close", &["closed"], &["closure"], &[Ar("fech"), Ar("encerr")], &["encerramento"]),
    deed("open", &["opened"], &[], &[Other("abri", "abrimos", "abert", "abrir")], &["abertura"]),
    deed("return", &["returned"], &["return"], &[Er("devolv")], &["devolucao"]),
    deed(
        "replace",
        &["replaced", "exchanged", "swapped"],
        &["replacement", "exchange"],
        &[Other("troquei", "trocamos", "trocad", "trocar"), Ir("substitu")],
        &["troca", "substituicao"],
    ),
    deed("approve", &["approved"], &["approval"], &[Ar("aprov")], &["aprovacao"]),
    deed("activate", &["activated", "enabled"], &["activation"], &[Ar("ativ")], &["ativacao"]),
    deed("deactivate", &["deactivated", "disabled"], &["deactivation"], &[Ar("desativ")], &["desativacao"]),
    deed(
        "block",
        &["blocked", "locked", "frozen"],
        &["block"],
        &[Other("bloqueei", "bloqueamos", "bloquead", "bloquear")],
        &["bloqueio"],
    ),
    deed("renew", &["renewed"], &["renewal"], &[Ar("renov")], &["renovacao"]),
    deed("upgrade", &["upgraded"], &["upgrade"], &[], &["upgrade"]),
    deed(
        "subscribe",
        &["subscribed"],
        &["subscription"],
        &[Other("assinei", "assinamos", "assinad", "assinar")],
        &["assinatura"],
    ),
    deed(
        "unsubscribe",
        &["unsubscribed"],
        &[],
        &[Other("descadastrei", "descadastramos", "descadastrad", "descadastrar")],
        &["descadastro"],
    ),
    deed("reset", &["reset"], &[], &[Er("redefin"), Ir("redefin")], &["redefinicao"]),
    deed("grant", &["granted"], &[], &[Er("conced")], &["concessao"]),
    deed(
        "extend",
        &["extended"],
        &["extension"],
        &[Other("estendi", "estendemos", "estendid", "estender"), Ar("prorrog")],
        &["extensao", "prorrogacao"],
    ),
    deed("waive", &["waived"], &["waiver"], &[Ar("isent")], &["isencao"]),
    deed(
        "withdraw",
        &["withdrawn", "withdrew"],
        &["withdrawal"],
        &[Other("saquei", "sacamos", "sacad", "sacar"), Ar("retir")],
        &["saque", "retirada"],
    ),
    deed("deposit", &["deposited"], &["deposit"], &[Ar("deposit")], &["deposito"]),
    deed("buy", &["bought", "purchased"], &["purchase"], &[Ar("compr")], &["compra"]),
    deed("sell", &["sold"], &["sale"], &[Er("vend")], &["venda"]),
    deed("submit", &["submitted", "filed"], &["submission"], &[Er("submet"), Ar("protocol")], &["protocolo"]),
    deed(
        "publish",
        &["published", "posted"],
        &["publication"],
        &[Other("publiquei", "publicamos", "publicad", "publicar"), Ar("post")],
        &["publicacao"],
    ),
];

/// What an intent is called in a sentence: its words.
pub(super) fn words(intent: &Intent) -> String {
    intent.to_string().replace(['.', '_'], " ")
}

/// The deeds that an intent names, in its last segment if one is named there.
pub(super) fn deeds(intent: &Intent) -> Vec<&'static Deed> {
    let text = intent.to_string();
    let named = |segment: &str| -> Vec<&'static Deed> {
        let is_named = |deed: &&Deed| segment.split('_').any(|word| is_word_of(deed, word));
        DEEDS.iter().filter(is_named).collect()
    };
    text.rsplit('.').map(named).find(|deeds| !deeds.is_empty()).unwrap_or_default()
}

/// The participle of an intent's own verb, where no deed names it: `notify_team`, `notified`.
pub(super) fn own_participle(intent: &Intent) -> String {
    let text = intent.to_string();
    let verb = text.rsplit('.').next().and_then(|segment| segment.split('_').next()).unwrap_or_default();
    match verb.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ied"),
        Some(_) | None if verb.ends_with('e') => format!("{verb}d"),
        Some(_) | None => format!("{verb}ed"),
    }
}

fn is_word_of(deed: &Deed, word: &str) -> bool {
    let singular = word.strip_suffix('s').unwrap_or(word);
    deed.stem == word
        || [deed.nouns, deed.done, deed.nomes]
            .iter()
            .any(|list| list.contains(&word) || list.contains(&singular))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_names_its_deed_in_its_last_words() {
        let stems = |intent: &str| -> Vec<_> {
            deeds(&intent.parse().unwrap()).iter().map(|deed| deed.stem).collect()
        };
        assert_eq!(stems("payments.refund"), ["refund"]);
        assert_eq!(stems("refund_card"), ["refund"]);
        assert_eq!(stems("payments.make"), ["pay"]);
        assert!(stems("team.notify").is_empty());
        assert_eq!(own_participle(&"team.notify_all".parse().unwrap()), "notified");
    }
}
