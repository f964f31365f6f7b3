export default () => globalThis.mockserver.stop();
