//! The passwords that are tried first, in lower case, letters and digits alone.

use super::rules::fold;
use zeroize::Zeroizing;

const MOST_ADDED: usize = 6;

/// Whether `text` is one of them in any case, with signs between, with a few digits or signs after it, or
/// with the digits and signs that people put for letters.
pub(super) fn is_common(text: &str) -> bool {
    let lower = Zeroizing::new(text.to_lowercase());
    let stem = lower.trim_end_matches(|last: char| !last.is_alphabetic());
    // A year and a sign, or `123456`, is the most that people add.
    let added = lower.chars().count() - stem.chars().count();
    let stem =
        Zeroizing::new(stem.chars().map(letter_meant).filter(|c| c.is_alphanumeric()).collect::<String>());
    listed(&fold(&lower)) || (added <= MOST_ADDED && listed(&stem))
}

fn listed(word: &str) -> bool {
    COMMON.split_ascii_whitespace().any(|common| common == word)
}

fn letter_meant(character: char) -> char {
    match character {
        '@' | '4' => 'a',
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '5' | '$' => 's',
        '7' => 't',
        other => other,
    }
}

const COMMON: &str = "
    123456 1234567 12345678 123456789 1234567890 12345678910 0123456789 0987654321 9876543210 987654321 87654321
    11111111 00000000 88888888 12341234 11223344 1122334455 123123123 123321123 147258369 159753456 789456123
    12344321 123454321 1234554321 10203040 102030405060 19871987 20202020 55555555 77777777 99999999 66666666
    password passwort motdepasse contrasena contraseña parola haslo heslo salasana
    wachtwoord lozinka jelszo senha senha123 parolparol пароль йцукен password1 password12 password123 password1234
    mypassword thepassword newpassword yourpassword passpass passphrase secretpassword adminpassword rootpassword
    qwerty qwertz azerty qwertyui qwertyuiop qwertyuiopasdf qwertyuiopasdfghjkl qwertz123 azertyuiop asdfghjk
    asdfghjkl asdfasdf asdfqwer zxcvbnm zxcvbnmasdfghjkl qazwsx qazwsxedc qazwsxedcrfv 1qaz2wsx 1qaz2wsx3edc 1qazxsw2
    1q2w3e 1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y q1w2e3r4 q1w2e3r4t5 zaq12wsx zaq1xsw2 qweasd qweasdzxc qwer1234 qwe123qwe
    abc123 abcd1234 abcdefg abcdefgh abcdefghij a1b2c3d4 a1b2c3d4e5 aa123456 abc12345 abcdef123456 1a2b3c4d
    iloveyou iloveu loveyou loveme lovely ilovegod iloveyou2 ichliebedich jetaime tequiero teamo mylove forever
    welcome welcomeback welcometo letmein letmeinnow opensesame comein hello helloworld hellohello bonjour hallo
    admin administrator admin123 adminadmin root rootroot toor superuser sysadmin operator manager user username
    guest default changeme changethis changeit changeme123 temp temporary testtest test1234 testing testing123 tester
    secret topsecret secret123 mysecret private nothing nopassword whatever trustno1 trustnoone access master
    monkey dragon shadow sunshine princess football baseball basketball superman batman spiderman pokemon starwars
    michael jordan jennifer jessica ashley daniel charlie thomas robert andrew joshua matthew anthony nicole hannah
    liverpool arsenal chelsea barcelona realmadrid juventus manchester bayern yankees cowboys lakers steelers
    computer internet google facebook samsung microsoft windows linux ubuntu oracle cisco iphone android minecraft
    summer winter spring autumn sommer january monday friday saturday sunday blessed jesus jesuschrist christ heaven
    angel flower butterfly purple orange banana cookie chocolate cheese pepper ginger buster tigger maggie killer
    hunter harley mustang ferrari porsche corvette mercedes diamond freedom america england london germany france
    correcthorsebatterystaple thisisapassword thisismypassword ihatepasswords iloveyousomuch iloveyouforever
    1234qwer 1234abcd 12345qwert 123456a 123456abc 123456qwerty 123qweasd 123qweasdzxc qwerty123 qwerty12345 qwerty123456
    letmeinplease pleaseletmein godisgood jesuslovesme masterkey passcode pincode loginlogin login
";
