# SPDX-License-Identifier: Apache-2.0
#
# Debian's Chromium without a screen, for tests of pages. It has a folder of its own and talks to loopback only.
import os
import shutil
import sys
import tempfile
import unittest

from daemon import BUILD, SOURCE
from waiting import wait_for

# Debian's package, also where another Python runs the tests.
sys.path.append("/usr/lib/python3/dist-packages")
try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

PROGRAMS = [shutil.which("chromium"), shutil.which("chromedriver")]
PICTURES = BUILD / "ui-pictures"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
ACCESSIBILITY = (SOURCE / "tests" / "system" / "ui" / "accessibility.js").read_text()

can_run = webdriver is not None and all(PROGRAMS)
needs_browser = unittest.skipUnless(can_run, "chromium, chromium-driver or python3-selenium is not installed")


class Browser:
    """One window; a context manager. `driver` is selenium's."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        options.binary_location = PROGRAMS[0]
        for flag in [*FLAGS, f"--user-data-dir={self.folder.name}"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        os.environ.setdefault("SE_AVOID_STATS", "true")
        self.driver = webdriver.Chrome(service=Service(PROGRAMS[1]), options=options)
        PICTURES.mkdir(exist_ok=True)
        self.scheme("light")
        return self

    def __exit__(self, *_):
        self.driver.quit()
        self.folder.cleanup()

    def size(self, width, height=900):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                    {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def scheme(self, name):
        """What the system prefers: light or dark. Nothing moves, so a colour is what it will be."""
        features = {"prefers-color-scheme": name, "prefers-reduced-motion": "reduce"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                    {"features": [{"name": name, "value": value} for name, value in features.items()]})

    def slow(self, bytes_per_second):
        """What the page receives in a second from now on; 0: as much as it can."""
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.emulateNetworkConditions", {
            "offline": False, "latency": 0, "downloadThroughput": bytes_per_second or -1, "uploadThroughput": -1})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, what, script, *arguments):
        """Until the script returns something true; returns it."""
        return wait_for(lambda: self.run(script, *arguments), what, pause=0.03,
                        more=lambda: f"; the page shows:\n{self.run('return document.body.innerText')}")

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def picture(self, name):
        self.driver.save_screenshot(str(PICTURES / f"{name}.png"))

    def faults(self):
        """What the rules of accessibility.js find, and whether the page is wider than the window."""
        found = self.run(ACCESSIBILITY)
        width, window = self.run("return [document.documentElement.scrollWidth, innerWidth]")
        return found + ([f"the page is {width} wide in a window of {window}"] if width > window else [])

    def reach(self, most=80):
        """Presses Tab through the page. Returns what a person can see and use but the keyboard does not reach, and what shows
        no sign that it has the focus."""
        from selenium.webdriver.common.keys import Keys
        self.run("""document.activeElement.blur(); window.reached = new Set(); window.unmarked = [];
                    addEventListener('focusin', window.note = (event) => {
                      reached.add(event.target);
                      if (parseFloat(getComputedStyle(event.target).outlineWidth) < 2) unmarked.push(event.target.outerHTML.slice(0, 80));
                    })""")
        missing = """const controls = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
                       .filter((each) => !each.disabled && each.checkVisibility() && each.getClientRects().length);
                     return controls.filter((each) => !reached.has(each)).map((each) => each.outerHTML.slice(0, 80))"""
        left = self.run(missing)
        for _ in range(most):
            if not left:
                break
            self.press(Keys.TAB)
            left = self.run(missing)
        unmarked = self.run("removeEventListener('focusin', note); return unmarked")
        return left, unmarked

    def errors(self):
        """Errors of the console since the last call, refusals by the content security policy among them."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
