"""For tests: a running server, rules declared in Python, and the calls that came."""

from mockserver.testing.calls import Call as Call
from mockserver.testing.calls import Calls as Calls
from mockserver.testing.cases import MockServerTestCase as MockServerTestCase
from mockserver.testing.cases import mocked as mocked
from mockserver.testing.declaring import Declared as Declared
from mockserver.testing.functions import Asked as Asked
from mockserver.testing.leftovers import MockServerWarning as MockServerWarning
from mockserver.testing.server import MockServer as MockServer
from mockserver.testing.setup import Setup as Setup
from mockserver.testing.transport import Clock as Clock
from mockserver.testing.transport import Transport as Transport
