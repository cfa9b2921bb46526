//! Pages and mail where a decision takes the yes of several people.

use crate::database::{Db, both};
use crate::four_eyes::{SENTENCE, club, of, two};
use crate::mail::{body, mails};
use crate::server::{Folder, Server, TENANT, eventually};
use crate::visitor::Visitor;
use serde_json::json;

both!(
    who_holds_the_role_finds_it_in_their_queue_and_says_yes,
    a_page_says_whose_yes_is_still_needed,
    everyone_who_may_say_yes_is_told_by_mail_once,
    no_more_than_fifty_are_told,
);

/// A page's text with runs of blanks as one.
fn text(page: &str) -> String {
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn who_holds_the_role_finds_it_in_their_queue_and_says_yes(db: Db) {
    let club = club(db, &two());
    let decision = club.ask();
    let path = format!("/queue/{decision}");
    let mut cleo = Visitor::signed_in(&club.server, "cleo@example.test");
    let queue = text(&cleo.page("/queue"));
    assert!(queue.contains(&path) && queue.contains("takes the yes of 2 people"), "{queue}");
    assert!(queue.contains("<span class=\"count\">1"), "{queue}");
    let page = text(&cleo.page(&path));
    assert!(page.contains(SENTENCE) && page.contains("Your yes alone does not let it happen yet"), "{page}");
    assert!(!page.contains("name=\"narrow\""), "the mandate is another person's: {page}");
    let hash = club.shown(&decision)["input_hash"].as_str().unwrap().to_owned();
    let given = cleo.submit(&path, &format!("{path}/approve"), &[("input_hash", &hash)]);
    assert_eq!(given.status, 303, "{}", given.text);
    let queue = text(&cleo.page("/queue"));
    assert!(queue.contains("the yes of 1 more person is needed"), "{queue}");
    assert!(queue.contains("you said yes, 1 more needed"), "{queue}");
    assert!(!queue.contains("<span class=\"count\">"), "nothing waits for her: {queue}");
    let page = text(&cleo.page(&path));
    assert!(page.contains("You said yes.") && !page.contains(&format!("{path}/approve")), "{page}");

    let mut carl = Visitor::signed_in(&club.server, "carl@example.test");
    let page = text(&carl.page(&path));
    assert!(page.contains("Yours is the last yes it takes.") && page.contains("cleo"), "{page}");
    carl.submit(&path, &format!("{path}/approve"), &[("input_hash", &hash)]);
    assert!(carl.page("/queue").contains("approved, for one time"));
    club.use_it(&decision).expect_outcome("allow");
    let ended = text(&carl.page(&path));
    assert_eq!(ended.matches("yes said").count(), 2, "{ended}");
}

fn a_page_says_whose_yes_is_still_needed(db: Db) {
    let club = club(db, &two());
    let decision = club.ask();
    let path = format!("/queue/{decision}");
    let mut member = Visitor::signed_in(&club.server, "m@example.test");
    let page = text(&member.page(&path));
    for says in ["2 people with the role compliance", "Your yes is not one of those it takes.", SENTENCE] {
        assert!(page.contains(says), "{says}: {page}");
    }
    assert!(page.find(SENTENCE) < page.find(&format!("{path}/decline")), "it stands above the buttons");
    assert!(!page.contains(&format!("{path}/approve")), "{page}");
    // A form sent all the same says why it did nothing.
    let token = crate::visitor::hidden(&member.page("/queue"), "csrf");
    let hash = club.shown(&decision)["input_hash"].as_str().unwrap().to_owned();
    let forced = member.post(&format!("{path}/approve"), &[], &[("csrf", &token), ("input_hash", &hash)]);
    assert_eq!(forced.status, 403);
    assert!(forced.text.contains("asks for the yes of other people"), "{}", forced.text);
    club.cleo.approve(&decision).expect(200);
    let page = text(&member.page(&path));
    assert!(page.contains("1 more person with the role compliance") && page.contains("cleo"), "{page}");
    let declined = member.submit(&path, &format!("{path}/decline"), &[]);
    assert_eq!(declined.status, 303, "{}", declined.text);
    assert_eq!(club.shown(&decision)["status"], "declined");
    let mut neighbour = Visitor::new(&club.server);
    club.server.member("n@example.test");
    neighbour.sign_in("n@example.test", crate::server::PASSWORD, None);
    assert_eq!(neighbour.get(&path).status, 404);
}

fn everyone_who_may_say_yes_is_told_by_mail_once(db: Db) {
    let outbox = Folder::new();
    let folder = outbox.display().to_string();
    let mut server = Server::set_up(db, &[TENANT]).option("--mail-folder", &folder);
    server.serve();
    let club = of(server, &two());
    club.server.member("n@example.test");
    let decision = club.ask();
    for _ in 0..3 {
        assert_eq!(club.ask(), decision);
    }
    let told = |who: &str| {
        let theirs = |mail: &&String| mail.contains(&format!("To: {who}")) && body(mail).contains(&decision);
        mails(&outbox).iter().filter(theirs).count()
    };
    let all = ["m@example.test", "cleo@example.test", "carl@example.test"];
    eventually("each of them is told", || all.iter().all(|who| told(who) > 0));
    assert_eq!(all.map(told), [1, 1, 1], "once");
    assert_eq!(mails(&outbox).len(), 3, "and nobody else");
    let hers = mails(&outbox).into_iter().find(|mail| mail.contains("To: cleo@example.test")).unwrap();
    assert!(body(&hers).contains("an agent of m asked"), "{hers}");
}

fn no_more_than_fifty_are_told(db: Db) {
    let outbox = Folder::new();
    let folder = outbox.display().to_string();
    let mut server = Server::set_up(db, &[TENANT]).option("--mail-folder", &folder);
    server.serve();
    let club = of(server, &two());
    // Fifty more, registered by hand: sixty passwords would take a minute to hash.
    let copies: Vec<String> = (0..60)
        .map(|number| {
            format!(
                "INSERT INTO principals (tenant, id, email, name, roles, created_at) \
                 SELECT tenant, '{}{number:02}', 'x{number}@example.test', 'x', roles, created_at \
                 FROM principals WHERE email = 'cleo@example.test'",
                "prn_01kdz4qg5w3m9y8x7v6t5s4r"
            )
        })
        .collect();
    for copy in copies {
        club.server.database().connect().execute(&copy);
    }
    let decision = club.ask();
    let written = format!("SELECT COUNT(*) FROM outbox WHERE id LIKE '{decision}.opened.%'");
    assert_eq!(club.server.database().connect().number(&written), 50);
    let hers = format!("{written} AND recipient = 'm@example.test'");
    assert_eq!(club.server.database().connect().number(&hers), 1, "the principal is among them");
    assert_eq!(json!(decision), club.shown(&decision)["id"]);
}
