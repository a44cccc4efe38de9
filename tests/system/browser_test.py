# SPDX-License-Identifier: Apache-2.0
#
# The page /ui as people use it, in Chromium: chats, devices of which one is killed, keyboard, widths, colours, names for screen
# readers. Pictures of every view lie in the build tree, in ui-pictures.
import os
import signal
import unittest

from browser import Browser, can_run, needs_browser
from daemon import Daemon

VIEWS = ["chat", "devices", "steps", "requests", "latency", "traffic", "log", "configuration"]
ANSWER = "return [...document.querySelectorAll('#messages li[data-role=assistant] span')].at(-1)?.textContent"
MOST_BYTES = 200_000
PICTURED = {(1280, "light"), (400, "dark")}


STORY = "Tell me a long story"  # the most probable answer has 198 tokens
SLOW = 2000  # bytes/s: that answer takes half a minute, long enough to be stopped
PIECES = 5000  # bytes/s: an answer of 40 tokens comes in many reads, not in one, though the page be held up for a while
browser = None


def setUpModule():
    global browser
    if can_run:
        browser = unittest.enterModuleContext(Browser())


@needs_browser
class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = cls.enterClassContext(Daemon("--attention", "xrt:0,xrt:1,cpu", "--revive-seconds", "0", "--admin", "loopback", cards=2))
        cls.browser = browser

    @classmethod
    def tearDownClass(cls):
        cls.browser.driver.get("about:blank")  # asks a daemon that has ended nothing

    def setUp(self):
        self.browser.size(1280)
        self.browser.driver.get(self.daemon.url + "/ui")
        self.browser.run("localStorage.clear()")

    def tearDown(self):
        self.browser.slow(0)
        self.assertEqual(self.browser.errors(), [])

    def show(self, view, width=1280):
        self.browser.size(width)
        self.browser.driver.get("about:blank")
        self.browser.driver.get(f"{self.daemon.url}/ui#{view}")
        self.browser.wait("the page hears the daemon", "return document.getElementById('state').textContent.startsWith('serving') ||"
                          " document.getElementById('state').textContent.startsWith('lost')")
        self.browser.wait("the view is there", f"return document.querySelector('#view-{view} h2').checkVisibility()")
        self.browser.wait("what it shows has come", "return document.querySelectorAll('main > :not([hidden])[aria-busy=true]').length === 0")

    def ask(self, text, tokens):
        from selenium.webdriver.common.keys import Keys
        # The most probable answer: a drawn one may end after a few tokens.
        self.browser.run("for (const name in arguments[0]) document.querySelector(`[name=${name}]`).value = arguments[0][name]",
                         {"max_tokens": str(tokens), "temperature": "0"})
        self.browser.run("document.getElementById('prompt').focus()")
        self.browser.press(text, Keys.ENTER)

    def note(self):
        return self.browser.run("return document.getElementById('chat-note').textContent")

    def test_a_question_is_answered_piece_by_piece(self):
        self.show("chat")
        self.browser.run("""window.lengths = new Set();
            new MutationObserver(() => lengths.add(document.getElementById('messages').textContent.length))
              .observe(document.getElementById('messages'), {subtree: true, childList: true, characterData: true})""")
        self.browser.slow(PIECES)
        self.ask("Tell me of a dog", 40)
        self.browser.wait("the answer ends", "return document.getElementById('chat-note').textContent.includes('tokens/s')")
        self.assertGreater(self.browser.run("return lengths.size"), 5)
        self.assertGreater(len(self.browser.run(ANSWER)), 20)
        self.assertRegex(self.note(), r"^40 tokens, first after \d+ ms, [\d.]+ tokens/s")
        for width in (1280, 400):
            self.browser.size(width)
            self.browser.picture(f"answer-{width}")
        kept = self.browser.run(ANSWER)
        self.show("chat")
        self.assertEqual(self.browser.run(ANSWER), kept)

    def test_an_answer_is_stopped_and_made_again(self):
        self.show("chat")
        self.browser.slow(SLOW)
        self.ask(STORY, 400)
        self.browser.wait("the first words", ANSWER)
        self.browser.run("document.getElementById('stop').click()")
        self.browser.wait("it stops", "return document.getElementById('chat-note').textContent === 'stopped'")
        self.browser.slow(0)
        self.browser.run("document.querySelector('[name=max_tokens]').value = '5'; document.getElementById('regenerate').click()")
        self.browser.wait("the other answer ends", "return document.getElementById('chat-note').textContent.includes('tokens')")
        self.assertRegex(self.note(), r"^5 tokens")
        self.assertEqual(self.browser.run("return document.querySelectorAll('#messages li').length"), 2)
        self.assertTrue(self.browser.run("return document.getElementById('stop').disabled"))

    def test_escape_stops_an_answer_and_conversations_are_kept_apart(self):
        from selenium.webdriver.common.keys import Keys
        self.show("chat")
        self.browser.slow(SLOW)
        self.ask(STORY, 400)
        self.browser.wait("the first words", ANSWER)
        self.browser.press(Keys.ESCAPE)
        self.browser.wait("it stops", "return document.getElementById('chat-note').textContent === 'stopped'")
        self.browser.run("document.getElementById('new-chat').click()")
        self.assertEqual(self.browser.run("return document.querySelectorAll('#messages li').length"), 0)
        self.browser.run("[...document.querySelectorAll('#chats button')].find((each) => each.textContent === 'Tell me a long story').click()")
        self.assertEqual(self.browser.run("return document.querySelector('#messages li span').textContent"), STORY)

    def test_every_view_is_sound_at_both_widths_and_in_both_colours(self):
        self.daemon.complete("Once upon a time", max_tokens=20)
        for view in VIEWS:
            self.show(view)
            for width in (1280, 400):
                self.browser.size(width)
                for scheme in ("light", "dark"):
                    self.browser.scheme(scheme)
                    with self.subTest(view=view, width=width, scheme=scheme):
                        self.assertEqual(self.browser.faults(), [])
                    if (width, scheme) in PICTURED:
                        self.browser.picture(f"{view}-{width}-{scheme}")
        self.browser.scheme("light")

    def test_a_request_is_seen_while_it_runs_with_its_pages(self):
        self.show("requests")
        # One after the other: a single one may end before the page asks again.
        self.browser.run("""window.asked = true;
            (async () => {
              while (asked) {
                await (await fetch('/v1/completions', {method: 'POST', headers: {'Content-Type': 'application/json'},
                  body: JSON.stringify({prompt: 'Once upon a time', max_tokens: 400, ignore_eos: true, n: 4, temperature: 1})})).text();
              }
            })()""")
        self.browser.wait("a request has pages", "return document.querySelectorAll('#sequences .card rect').length > 0")
        self.browser.picture("running-1280")
        text = self.browser.wait("pages are counted by unit", "return document.getElementById('sequences').textContent.match(/KV pages: .*/)?.[0]")
        self.assertRegex(text, r"KV pages: \d+ on (xrt:0|xrt:1|cpu)")
        self.assertEqual(self.browser.faults(), [])
        self.browser.run("asked = false")

    def test_operators_read_the_log_and_what_is_configured(self):
        self.show("log")
        self.assertIn("serving tandem-stories at", self.browser.run("return document.getElementById('log').textContent"))
        self.browser.run("document.getElementById('only-alarms').click()")
        self.browser.wait("only warnings stay", "return !document.getElementById('log').textContent.includes('serving tandem-stories')")
        self.show("configuration")
        self.assertIn("--attention", self.browser.run("return document.querySelector('#configuration tbody').textContent"))
        self.show("traffic")
        self.assertEqual(self.browser.run("return document.querySelectorAll('#traffic svg rect').length"), 16)

    def test_the_chosen_colours_count_more_than_the_systems(self):
        self.show("chat")
        back = "return getComputedStyle(document.body).backgroundColor"
        light = self.browser.run(back)
        self.browser.run("const theme = document.getElementById('theme'); theme.value = 'dark'; theme.dispatchEvent(new Event('change'))")
        self.assertNotEqual(self.browser.run(back), light)
        self.assertEqual(self.browser.faults(), [])

    def test_the_keyboard_reaches_everything(self):
        from selenium.webdriver.common.keys import Keys
        for view in VIEWS:
            self.show(view)
            self.browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true })")
            with self.subTest(view=view):
                self.assertEqual(self.browser.reach(), ([], []))
        self.show("chat")
        self.browser.press(Keys.TAB, Keys.TAB, Keys.TAB, Keys.ENTER)
        self.browser.wait("the link opens its view", "return location.hash === '#devices' && document.activeElement.id === 'main'")
        self.assertEqual(self.browser.run("return document.title"), "Tandem - Devices")

    def test_it_is_small_and_loads_at_once(self):
        self.show("chat")
        size, loaded = self.browser.run("""const [page] = performance.getEntriesByType('navigation');
            const all = [page, ...performance.getEntriesByType('resource').filter((each) => each.name.includes('/ui'))];
            return [all.reduce((sum, each) => sum + each.transferSize, 0), page.loadEventEnd - page.startTime]""")
        print(f"the page takes {size / 1e3:.1f} KB and has loaded after {loaded:.0f} ms")
        self.assertGreater(size, 10_000)
        self.assertLess(size, MOST_BYTES)

    def test_the_policy_holds(self):
        self.show("chat")
        self.browser.run("""window.violations = 0;
            addEventListener('securitypolicyviolation', () => { ++violations });
            const script = document.createElement('script');
            script.textContent = 'window.broken = true';
            document.body.append(script)""")
        self.browser.wait("the browser refuses a script in the page", "return violations === 1")
        self.assertIsNone(self.browser.run("return window.broken ?? null"))
        self.assertEqual(len(self.browser.errors()), 1)


@needs_browser
class LossTest(unittest.TestCase):
    def test_a_killed_card_turns_red(self):
        with Daemon("--attention", "xrt:0,xrt:1,cpu", "--revive-seconds", "0", cards=2) as daemon:
            browser.size(1280)
            browser.driver.get(daemon.url + "/ui#devices")
            browser.wait("the devices are there", "return document.querySelectorAll('#devices .card').length === 4")
            self.assertEqual(browser.run("return document.querySelectorAll('.card.lost').length"), 0)
            os.kill(daemon.card_processes()[0], signal.SIGKILL)
            name = browser.wait("a card is shown as lost", "return document.querySelector('.card.lost h3')?.textContent")
            self.assertRegex(name, r"^xrt:[01].*lost")
            red, green, blue = browser.run("""return getComputedStyle(document.querySelector('.card.lost h3')).color
                                                .match(/\\d+/g).slice(0, 3).map(Number)""")
            self.assertGreater(red, 2 * max(green, blue))
            self.assertRegex(browser.run("return document.getElementById('state').textContent"), r"^lost: xrt:[01]$")
            for width in (1280, 400):
                browser.size(width)
                for scheme in ("light", "dark"):
                    browser.scheme(scheme)
                    self.assertEqual(browser.faults(), [])
                    browser.picture(f"lost-{width}-{scheme}")
            browser.driver.get("about:blank")
            browser.driver.get(daemon.url + "/ui#requests")
            browser.wait("others are told who may see", "return document.getElementById('requests').textContent.includes('--admin')")
            self.assertEqual(browser.errors(), [])


if __name__ == "__main__":
    unittest.main()
