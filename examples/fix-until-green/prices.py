"""What a customer pays. Three of the functions are wrong, and the tests say which."""


def gross(net: float, percent: float) -> float:
    return net - net * percent / 100


def discounted(price: float, percent: float) -> float:
    return price - price * percent * 100


def capped(price: float, most: float) -> float:
    return price if price > most else most
