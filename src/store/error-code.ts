/** The code of an error from the system or a driver; empty where there is none. Of several attempts (one for each address of a host) the first one's. */
export function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && error.code !== undefined) return String(error.code);
  return 'errors' in error && Array.isArray(error.errors) && error.errors.length > 0 ? codeOf(error.errors[0]) : '';
}
