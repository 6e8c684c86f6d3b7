/**
 * Stands for whatever this application has for its users: a session store, an identity provider, an API gateway.
 * APP_USERS holds `name=token` with commas between; APP_ADMINS holds names with commas between.
 */
const users = new Map(listOf(process.env.APP_USERS).map((entry) => [entry.slice(entry.indexOf('=') + 1), entry.split('=', 1)[0]]));
const admins = new Set(listOf(process.env.APP_ADMINS));

function listOf(text = '') {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** Lets in the users that the application knows, and keeps the name for the handlers behind it. */
export function requireUser(request, response, next) {
  const token = /^Bearer (\S+)$/.exec(request.get('authorization') ?? '')?.[1] ?? '';
  const user = users.get(token);
  if (user === undefined) {
    response.status(401).json({ detail: 'Please sign in.', code: 'signed_out' });
    return;
  }
  request.user = user;
  next();
}

/** The name of the signed-in user; undefined outside of the routes behind {@link requireUser}. */
export function userOf(request) {
  return request.user;
}

/** Says who may refresh the toolsets, and who is shown their URLs and the texts of their errors. */
export function isAdministrator(request) {
  return admins.has(userOf(request));
}

/**
 * Threads belong to users: the id has to begin with the user's name and a colon, for example `ann:42`. The router knows threads
 * by their id alone, so without this whoever guesses an id could read the thread. It needs the parsed body.
 */
export function requireOwnThread(request, response, next) {
  const thread = request.params.thread ?? request.body?.threadId;
  if (typeof thread === 'string' && thread.startsWith(`${userOf(request)}:`)) {
    next();
    return;
  }
  response.status(403).json({ detail: `The thread's id has to begin with ${userOf(request)}:`, code: 'not_your_thread' });
}
